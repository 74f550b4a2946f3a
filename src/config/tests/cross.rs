//! Rules that need more than one value.
use super::{assert_only_error, errors, good, with, BASE};

#[test]
fn names_and_addresses_are_used_once() {
    let group = "\n[[group]]\nname = \"main\"\nservers = [{ address = \"LOCALHOST:3306\", role = \"replica\" }]\n";
    assert_only_error(
        &format!("{BASE}{group}"),
        "test.toml:18:8: group[1].name: there is a group \"main\" already, at line 6",
    );
    let user = "\n[[user]]\nname = \"app\"\npassword = \"\"\ngroup = \"main\"\n";
    assert_only_error(
        &format!("{BASE}{user}"),
        "test.toml:18:8: user[1].name: there is a user \"app\" already, at line 13",
    );
    let server = BASE.replace("127.0.0.1:3307", "127.0.0.1:3306");
    assert_only_error(
        &server,
        "test.toml:9:15: group[0].servers[1].address: 127.0.0.1:3306 is a server already, at line 8; each server \
         belongs to one group",
    );
    let listen = BASE.replace(
        "\"127.0.0.1:6033\"",
        "\"127.0.0.1:6033\", \"127.0.0.1:6033\"",
    );
    assert_only_error(
        &listen,
        "test.toml:3:29: proxy.listen[1]: 127.0.0.1:6033 is in the list twice",
    );
}

#[test]
fn the_services_of_one_port_are_told_apart() {
    let text = with(
        "listen = [\"127.0.0.1:6033\"]",
        "admin = \"127.0.0.1:6032\"\nhttp = \"127.0.0.1:6032\"",
    );
    assert_only_error(
        &text,
        "test.toml:5:8: proxy.http: 127.0.0.1:6032 is already taken by proxy.admin (127.0.0.1:6032)",
    );
    let any = BASE.replace(
        "127.0.0.1:6033\"]",
        "0.0.0.0:6033\"]\nadmin = \"127.0.0.1:6033\"",
    );
    assert!(errors(&any)[0].contains("already taken by proxy.listen[0] (0.0.0.0:6033)"));
    let families = BASE.replace("127.0.0.1:6033\"]", "0.0.0.0:6033\", \"[::]:6033\"]");
    assert_eq!(good(&families).proxy.listen.len(), 2);
}

#[test]
fn a_server_cannot_be_the_proxy_itself() {
    for (listen, server) in [
        ("127.0.0.1:6033", "localhost:6033"),
        ("0.0.0.0:6033", "127.0.0.1:6033"),
        ("unix:/s", "unix:/s"),
    ] {
        let text = BASE
            .replace("127.0.0.1:6033", listen)
            .replace("127.0.0.1:3307", server);
        let found = errors(&text);
        assert!(
            found.len() == 1 && found[0].contains("is where Umpire itself listens"),
            "{server}: {found:?}"
        );
    }
}

#[test]
fn a_group_has_servers_and_at_most_one_primary() {
    let two = BASE.replace("role = \"replica\"", "role = \"primary\"");
    assert_only_error(
        &two,
        "test.toml:9:3: group[0].servers[1]: a second primary; a group has one, the others are replicas",
    );
    let none = BASE.replace("role = \"primary\"", "role = \"replica\"");
    assert_eq!(good(&none).groups[0].servers.len(), 2);
    let role = BASE.replace("\"replica\"", "\"slave\"");
    assert!(errors(&role)[0].ends_with("role: \"slave\" is not one of \"primary\", \"replica\""));
}

#[test]
fn a_user_of_a_group_that_does_not_exist_is_told_the_nearest() {
    let text = BASE.replace("group = \"main\"", "group = \"mian\"");
    assert_only_error(
        &text,
        "test.toml:15:9: user[0].group: there is no group \"mian\"; did you mean \"main\"?",
    );
}

#[test]
fn an_empty_allow_list_is_refused_since_it_could_mean_nobody() {
    let text = with("name = \"app\"", "allow = []");
    assert!(
        errors(&text)[0].ends_with("user[0].allow: is empty; leave it out to allow every address")
    );
}

#[test]
fn servers_can_be_told_whose_connections_they_have() {
    let with_group = |keys: &str| with("name = \"main\"", keys);
    let told = |text: &str| good(text).groups[0].proxy_protocol;
    assert_eq!(told(BASE), None);
    assert_eq!(told(&with_group("proxy_protocol = \"off\"")), None);
    for (keys, version, of_client) in [
        ("proxy_protocol = \"v1\"", 1, false),
        (
            "proxy_protocol = \"v2\"\nproxy_protocol_address = \"own\"",
            2,
            false,
        ),
        (
            "proxy_protocol = \"v2\"\nproxy_protocol_address = \"client\"",
            2,
            true,
        ),
    ] {
        let headers = crate::config::ProxyHeaders { version, of_client };
        assert_eq!(told(&with_group(keys)), Some(headers), "{keys}");
    }
    for (keys, message) in [
        (
            "proxy_protocol = \"v3\"",
            "is not one of \"off\", \"v1\", \"v2\"",
        ),
        (
            "proxy_protocol_address = \"client\"",
            "needs proxy_protocol",
        ),
        (
            "proxy_protocol_address = \"me\"",
            "is not one of \"own\", \"client\"",
        ),
    ] {
        let found = errors(&with_group(keys));
        assert!(found[0].contains(message), "{found:?}");
    }
}

#[test]
fn a_listener_has_lists_of_its_own_which_a_unix_socket_cannot_have() {
    let listen = |table: &str| {
        let old = "listen = [\"127.0.0.1:6033\"]";
        BASE.replace(old, &format!("listen = [{table}]"))
    };
    let text = listen(
        "{ address = \"0.0.0.0:6033\", allow = [\"10.0.0.0/8\", \"::ffff:11.0.0.0/104\"], \
         deny = [\"10.1.0.0/16\"], proxy_protocol = [\"10.9.0.1\", \"fd00::/8\"] }",
    );
    let listener = &good(&text).proxy.listen[0];
    let ip = |text: &str| text.parse::<std::net::IpAddr>().unwrap();
    assert!(listener.addresses.admit(ip("10.2.0.1")) && listener.addresses.admit(ip("11.0.0.1")));
    assert!(!listener.addresses.admit(ip("10.1.0.1")) && !listener.addresses.admit(ip("12.0.0.1")));
    assert!(listener.is_balancer(ip("::ffff:10.9.0.1")) && listener.is_balancer(ip("fd00::1")));
    assert!(!listener.is_balancer(ip("10.9.0.2")));
    assert_eq!(
        listener.to_string(),
        "0.0.0.0:6033 (allow 10.0.0.0/8 11.0.0.0/8) (deny 10.1.0.0/16) (proxy_protocol 10.9.0.1/32 fd00::/8)"
    );
    let text = listen("{ address = \"unix:/tmp/x\", deny = [\"::1\"] }");
    let found = errors(&text);
    assert!(
        found[0].contains("proxy.listen[0].deny: the clients of a Unix socket"),
        "{found:?}"
    );
    let text = listen("{ address = \"0.0.0.0:6033\", proxy_protocol = [] }");
    let found = errors(&text);
    assert!(
        found[0].contains("proxy.listen[0].proxy_protocol: is empty; leave it out where nobody"),
        "{found:?}"
    );
    let text = listen("{ address = \"0.0.0.0:6033\", deny = [\"10.0.0.1/8\"] }");
    let found = errors(&text);
    assert!(
        found[0].contains("listen[0].deny[0]: \"10.0.0.1/8\" has bits"),
        "{found:?}"
    );
}

#[test]
fn the_admin_port_needs_a_password_beyond_loopback() {
    let open = with("listen = [\"127.0.0.1:6033\"]", "admin = \"0.0.0.0:6032\"");
    assert!(errors(&open)[0].contains("set admin_password or admin_password_file"));
    let closed = with(
        "listen = [\"127.0.0.1:6033\"]",
        "admin = \"0.0.0.0:6032\"\nadmin_password = \"x\"",
    );
    assert_eq!(good(&closed).proxy.admin_password, "x");
    let local = with("listen = [\"127.0.0.1:6033\"]", "admin = \"[::1]:6032\"");
    assert_eq!(
        good(&local).proxy.admin,
        Some("[::1]:6032".parse().unwrap())
    );
}

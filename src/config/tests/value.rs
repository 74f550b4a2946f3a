use crate::config::value::{address, cidr, listen, password_hash, socket_address};
use crate::config::{Address, Cidr, Listen, Secret};
use std::net::IpAddr;

#[test]
fn server_addresses_have_one_spelling() {
    for (text, shown) in [
        ("127.0.0.1:3306", "127.0.0.1:3306"),
        ("DB-1.Example.com:3306", "db-1.example.com:3306"),
        ("[0:0::1]:3306", "[::1]:3306"),
        ("unix:/run/mysqld.sock", "unix:/run/mysqld.sock"),
    ] {
        assert_eq!(address(text).unwrap().to_string(), shown);
    }
    assert_eq!(address("[::1]:1"), Ok(Address::Tcp("::1".into(), 1)));
}

#[test]
fn wrong_addresses_say_what_is_wrong() {
    for (text, expected) in [
        ("db", "has no port"),
        ("db:", "\"\" is not a port"),
        ("db:0", "is not a port from 1 to 65535"),
        ("db:65536", "is not a port"),
        ("db:+5", "is not a port"),
        ("::1:3306", "in brackets"),
        ("[::1]", "has no port"),
        ("[nope]:3306", "is not an IPv6 address"),
        ("[fe80::1%eth0]:3306", "is not an IPv6 address"),
        ("10.0.0.256:3306", "is not an IPv4 address"),
        (":3306", "is not a host name"),
        ("a b:3306", "is not a host name"),
        ("unix:mysqld.sock", "is not an absolute path"),
        ("unix:", "is not an absolute path"),
        ("unix:/a\0b", "holds a NUL"),
    ] {
        let message = address(text).unwrap_err();
        assert!(message.contains(expected), "{text}: {message}");
    }
    let long = format!("unix:/{}", "x".repeat(107));
    assert!(address(&long).unwrap_err().contains("108 bytes"));
    assert!(address(&long[..long.len() - 1]).is_ok());
}

#[test]
fn listeners_are_ip_addresses_or_sockets() {
    assert_eq!(
        listen("[::]:6033"),
        Ok(Listen::Tcp("[::]:6033".parse().unwrap()))
    );
    assert_eq!(listen("unix:/s"), Ok(Listen::Unix("/s".into())));
    assert!(listen("localhost:6033")
        .unwrap_err()
        .contains("is not an IP address"));
    assert!(socket_address("unix:/s").is_err());
}

#[test]
fn networks_contain_what_their_prefix_covers() {
    for (network, inside, outside) in [
        ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
        ("192.168.4.0/23", "192.168.5.255", "192.168.6.0"),
        ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
        ("0.0.0.0/0", "255.255.255.255", "::1"),
        ("::/0", "2001:db8::1", "1.2.3.4"),
        ("2001:db8::/33", "2001:db8:7fff::", "2001:db8:8000::"),
        ("::1", "::1", "::2"),
        // an IPv4 client of an IPv6 listener
        ("10.0.0.0/8", "::ffff:10.1.1.1", "::ffff:11.1.1.1"),
    ] {
        let cidr = cidr(network).unwrap();
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!(cidr.contains(ip(inside)), "{network} lacks {inside}");
        assert!(!cidr.contains(ip(outside)), "{network} has {outside}");
    }
}

#[test]
fn wrong_networks_are_refused() {
    assert_eq!(
        cidr("10.0.0.0/8"),
        Ok(Cidr {
            address: "10.0.0.0".parse().unwrap(),
            prefix: 8
        })
    );
    assert!(cidr("10.1.0.0/8")
        .unwrap_err()
        .contains("did you mean \"10.0.0.0/8\"?"));
    for text in [
        "10.0.0.0/33",
        "::/129",
        "10.0.0.0/",
        "10.0.0.0/+8",
        "10.0.0/8",
        "host",
        "",
        "::/-1",
    ] {
        assert!(cidr(text).is_err(), "{text} was taken");
    }
}

/// `$A$005$`, a salt with an unprintable byte, a digest.
fn sha2(count: &str) -> Vec<u8> {
    let salt = b"\x01aaaaaaaaaaaaaaaaaa\x7f";
    [
        b"$A$",
        count.as_bytes(),
        b"$",
        salt,
        "d".repeat(43).as_bytes(),
    ]
    .concat()
}

fn as_hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold("0x".to_owned(), |text, b| text + &format!("{b:02X}"))
}

#[test]
fn native_hashes_are_read_as_text_and_as_hex() {
    let text = "*14E65567abdb5135d0cfd9a70b3032c179a49ee7";
    let Ok(Secret::Native(hash)) = password_hash(text) else {
        panic!("not native")
    };
    assert_eq!((hash[0], hash[19]), (0x14, 0xe7));
    assert!(password_hash(&as_hex(text.as_bytes())) == Ok(Secret::Native(hash)));
}

#[test]
fn caching_sha2_hashes_are_read_as_text_and_as_hex() {
    let bytes = sha2("005");
    for text in [String::from_utf8(bytes.clone()).unwrap(), as_hex(&bytes)] {
        let Ok(Secret::CachingSha2 {
            rounds,
            salt,
            digest,
        }) = password_hash(&text)
        else {
            panic!("{text}")
        };
        assert_eq!((rounds, salt.len(), digest), (5_000, 20, vec![b'd'; 43]));
        assert_eq!((salt[0], salt[19]), (0x01, 0x7f));
    }
    let Ok(Secret::CachingSha2 { rounds, .. }) = password_hash(&as_hex(&sha2("FFF"))) else {
        panic!("FFF")
    };
    assert_eq!(rounds, 4_095_000);
}

#[test]
fn an_ed25519_public_key_is_read_as_mariadb_stores_it() {
    let text = "ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY";
    let Ok(Secret::Ed25519(key)) = password_hash(text) else {
        panic!("not ed25519")
    };
    assert_eq!((key[0], key[31]), (0x64, 0x96));
    assert!(password_hash(&as_hex(text.as_bytes())) == Ok(Secret::Ed25519(key)));
    // letters that look like hex are letters
    let hexlike = format!("0x{}", &text[2..]);
    assert!(matches!(password_hash(&hexlike), Ok(Secret::Ed25519(_))));
}

#[test]
fn wrong_hashes_are_refused_without_being_shown() {
    let short = sha2("005");
    let mut digest = sha2("005");
    digest[69] = b'!';
    for text in [
        "hush",
        "*hush",
        "*14E65567ABDB5135D0CFD9A70B3032C179A49E",
        "0xhush",
        "0x123",
        "",
        "$A$",
        "$A$005",
        &as_hex(&short[..69]),
        &as_hex(&digest),
        &as_hex(&sha2("004")),
        &as_hex(&sha2("+05")),
    ] {
        let message = password_hash(text)
            .err()
            .unwrap_or_else(|| panic!("{text} was taken"));
        assert!(!message.contains("hush"), "{message}");
    }
}

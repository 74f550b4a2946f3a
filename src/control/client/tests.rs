use super::*;
use crate::control::testing::{Behaviour, FakeServer};
use crate::wire::auth::{self, caching_sha2::KeyPair};
use crate::wire::capabilities as caps;
use tokio::net::TcpListener;

async fn log_in(server: &FakeServer, password: &str) -> Result<Client, ClientError> {
    let mut link = Link::connect(&Target::Tcp(server.address), None).await?;
    let greeting = link.greeting().await?;
    Client::login(link, None, &greeting, "monitor", password).await
}

fn code(result: Result<Client, ClientError>) -> u16 {
    match result {
        Err(ClientError::Server(e)) => e.code,
        Err(other) => panic!("not the server's error: {other}"),
        Ok(_) => panic!("logged in"),
    }
}

#[tokio::test]
async fn logs_in_by_either_plugin_and_reads_rows() {
    for plugin in [auth::NATIVE, auth::CACHING_SHA2] {
        let server = FakeServer::start(Behaviour {
            plugin,
            ..Behaviour::default()
        });
        let mut client = log_in(&server, "mon").await.unwrap();
        let rows = client.query("SELECT @@global.read_only").await.unwrap();
        assert_eq!(
            (rows.count(), rows.at(0, 0), rows.get(0, "B")),
            (1, Some("0"), Some("OFF"))
        );
        assert_eq!(rows.at(0, 2), None);
        client.quit().await;
    }
}

#[tokio::test]
async fn a_wrong_password_is_the_servers_own_error() {
    let server = FakeServer::start(Behaviour::default());
    assert_eq!(code(log_in(&server, "wrong").await), 1045);
}

#[tokio::test]
async fn an_error_in_place_of_the_greeting_is_passed_on() {
    let refuse = Some((1040, "Too many connections"));
    let server = FakeServer::start(Behaviour {
        refuse,
        ..Behaviour::default()
    });
    assert_eq!(code(log_in(&server, "mon").await), 1040);
}

/// One connection that is given `packets` after the greeting, whatever it says.
async fn scripted(packets: Vec<Vec<u8>>) -> Result<Client, ClientError> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = Target::Tcp(listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        let greeting = handshake::Greeting {
            version: "8.4.0".into(),
            connection_id: 1,
            scramble: auth::new_scramble(),
            capabilities: caps::PROTOCOL_41 | caps::SECURE_CONNECTION | caps::PLUGIN_AUTH,
            collation: 45,
            status: 2,
            auth_plugin: auth::CACHING_SHA2.into(),
        };
        frame(&greeting.encode(), 0, &mut bytes);
        for (i, packet) in packets.iter().enumerate() {
            frame(packet, 2 + i as u8, &mut bytes);
        }
        stream.write_all(&bytes).await.unwrap();
        // Read until the client leaves, so that nothing of the above is lost to a reset.
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    });
    let mut link = Link::connect(&target, None).await?;
    let greeting = link.greeting().await?;
    let result = Client::login(link, None, &greeting, "monitor", "mon").await;
    server.abort();
    result
}

#[tokio::test]
async fn a_server_without_the_digest_gets_the_password_under_its_public_key() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = Target::Tcp(listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut link = Link {
            stream: Box::new(stream),
            local: None,
            encrypted: false,
            private: false,
            assembler: Assembler::new(1 << 16),
        };
        let scramble = auth::new_scramble();
        let greeting = handshake::Greeting {
            version: "8.4.0".into(),
            connection_id: 1,
            scramble,
            capabilities: caps::PROTOCOL_41 | caps::SECURE_CONNECTION | caps::PLUGIN_AUTH,
            collation: 45,
            status: 2,
            auth_plugin: auth::CACHING_SHA2.into(),
        };
        link.send(&greeting.encode(), 0).await.unwrap();
        let (sequence, _) = link.receive().await.unwrap();
        link.send(&[1, 4], sequence + 1).await.unwrap();
        let (sequence, request) = link.receive().await.unwrap();
        assert_eq!(request, [2]);
        let key = KeyPair::generate();
        let mut answer = vec![1];
        answer.extend_from_slice(key.public_pem().as_bytes());
        link.send(&answer, sequence + 1).await.unwrap();
        let (sequence, cipher) = link.receive().await.unwrap();
        let password = key.decrypt_password(&cipher, &scramble);
        link.send(&reply::Ok::default().encode(0), sequence + 1)
            .await
            .unwrap();
        password
    });
    let mut link = Link::connect(&target, None).await.unwrap();
    let greeting = link.greeting().await.unwrap();
    Client::login(link, None, &greeting, "monitor", "mon")
        .await
        .unwrap();
    assert_eq!(server.await.unwrap(), Some(b"mon".to_vec()));
}

#[tokio::test]
async fn a_plugin_that_the_client_lacks_is_named() {
    for plugin in ["parsec", "mysql_clear_password"] {
        let switch = reply::auth_switch_with(plugin, b"");
        match scripted(vec![switch]).await {
            Err(ClientError::Unsupported(text)) => assert!(text.contains(plugin), "{text}"),
            other => panic!("{:?}", other.err()),
        }
    }
}

#[tokio::test]
async fn a_login_that_never_ends_is_given_up() {
    let result = scripted(vec![vec![1, 3]; 50]).await;
    assert!(matches!(
        result,
        Err(ClientError::Malformed("login without an end"))
    ));
}

#[tokio::test]
async fn hostile_results_are_errors() {
    let ok = reply::Ok::default().encode(0);
    let eof = vec![0xfe, 0, 0, 2, 0];
    let hostile: [Vec<Vec<u8>>; 7] = [
        vec![vec![]],
        vec![vec![0xfb]],
        vec![vec![0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]],
        vec![vec![0xfc, 1]],
        vec![vec![1], vec![3, b'd']],
        vec![vec![1], vec![0xfb; 6]],
        vec![vec![1], [1, b'a'].repeat(6), eof, vec![0xfd, 0xff, 0xff]],
    ];
    for packets in hostile {
        let mut script = vec![ok.clone()];
        script.extend(packets.clone());
        let mut client = scripted(script).await.unwrap();
        let result = client.query("SELECT 1").await;
        assert!(
            matches!(result, Err(ClientError::Malformed(_))),
            "{packets:?}: {result:?}"
        );
    }
}

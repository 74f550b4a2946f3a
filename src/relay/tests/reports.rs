//! What clients see of session tracking.
use super::*;

#[test]
fn a_schema_that_is_kept_is_told_with_what_is_reported_next() {
    let variable = |name: &str| Change::Variable {
        name: name.as_bytes().to_vec(),
        value: b"ON".to_vec(),
    };
    let (schema, state) = (
        Change::Schema(b"shop".to_vec()),
        Change::State(b"1".to_vec()),
    );
    let cases = [
        // what is reported, what is owed; what the client sees, whether it is owed then
        (vec![schema.clone(), state.clone()], false, vec![], true),
        (vec![state.clone()], false, vec![], false),
        (vec![state.clone()], true, vec![], true),
        (
            vec![schema.clone(), variable("autocommit")],
            false,
            vec![schema.clone(), variable("autocommit")],
            false,
        ),
        (
            vec![variable("autocommit")],
            true,
            vec![variable("autocommit"), schema.clone()],
            false,
        ),
        (
            vec![Change::Schema(Vec::new()), state.clone()],
            true,
            vec![Change::Schema(Vec::new())],
            false,
        ),
    ];
    for (changes, owed, visible, still) in cases {
        let schema = schema.clone();
        run(move || async move {
            let ok = reply::Ok {
                status: status::AUTOCOMMIT | status::SESSION_STATE_CHANGED,
                changes,
                ..reply::Ok::default()
            };
            let (server, server_end) = pair();
            let (client, client_end) = pair();
            server_end.send(Buf::from_vec(packets(&[&ok.encode(CAPS)])));
            let mut relay = Relay::new(&server, Some(&client), command::QUERY, CAPS);
            relay.filter.keeps_schema = true;
            relay.owed_schema = owed.then(|| Box::new(schema));
            assert!(matches!(relay.run().await, Ok(Progress::Done)));
            let got = client_end
                .recv()
                .await
                .expect("readable")
                .expect("not ended");
            let seen = reply::Ok::decode(&got[4..], CAPS).expect("an OK packet");
            assert_eq!(seen.changes, visible);
            assert_eq!(relay.end.kept_schema || relay.owed_schema.is_some(), still);
        });
    }
}

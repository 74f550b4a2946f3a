//! The login's messages. First eight bytes: the capabilities that COM_CHANGE_USER is read with.
#![no_main]

use libfuzzer_sys::fuzz_target;
use umpire::wire::handshake::{is_ssl_request, ChangeUser, Greeting, Response};
use umpire::wire::reply::Login;

fuzz_target!(|data: &[u8]| {
    let Some((capabilities, data)) = data.split_first_chunk() else {
        return;
    };
    let capabilities = u64::from_le_bytes(*capabilities);
    is_ssl_request(data);
    if let Ok(greeting) = Greeting::decode(data) {
        assert!(Greeting::decode(&greeting.encode()).is_ok());
    }
    if let Ok(response) = Response::decode(data) {
        assert_eq!(Response::decode(&response.encode()), Ok(response));
    }
    if let Ok(change) = ChangeUser::decode(data, capabilities) {
        let encoded = change.encode(capabilities);
        assert_eq!(ChangeUser::decode(&encoded[1..], capabilities), Ok(change));
    }
    let _ = Login::decode(data, capabilities);
});

//! OK, ERR and the prepared statements' packets. First eight bytes: capabilities.
#![no_main]

use libfuzzer_sys::fuzz_target;
use umpire::wire::prepare::{with_types, Execute, PrepareOk};
use umpire::wire::reply::{Err, Ok};

fuzz_target!(|data: &[u8]| {
    let Some((capabilities, data)) = data.split_first_chunk() else {
        return;
    };
    let capabilities = u64::from_le_bytes(*capabilities);
    if let Result::Ok(ok) = Ok::decode(data, capabilities) {
        let encoded = ok.encode(capabilities);
        let again = Ok::decode(&encoded, capabilities).expect("what was encoded can be decoded");
        assert_eq!(again.encode(capabilities), encoded);
    }
    if let Result::Ok(error) = Err::decode(data) {
        assert_eq!(Err::decode(&error.encode()), Result::Ok(error));
    }
    let _ = PrepareOk::decode(data);
    let parameters = u16::from(data.first().copied().unwrap_or(0));
    if let Result::Ok(execute) = Execute::decode(data, parameters, capabilities) {
        if let (Some(at), None) = (execute.bound_flag_at, execute.types) {
            with_types(data, at, &[3, 0]);
        }
    }
});

//! What a reload cannot change.
use super::{Config, Listener, Proxy, Workers};
use rsa::traits::PublicKeyParts;
use std::fmt::Display;

/// The keys whose new value takes effect only at the next start, a sentence each; empty: `new` can
/// replace `old` while running.
pub fn needs_restart(old: &Config, new: &Config) -> Vec<String> {
    let store = |config: &Config| match &config.store {
        Some(folder) => folder.display().to_string(),
        None => "none".into(),
    };
    let stores = (store(old), store(new));
    let saved = |config: &Config| match &config.library_save_file {
        Some(file) => file.display().to_string(),
        None => "none".into(),
    };
    let saved = (saved(old), saved(new));
    let (old, new) = (&old.proxy, &new.proxy);
    let changed = [
        ("listen", listen(&old.listen), listen(&new.listen)),
        ("admin", service(old.admin), service(new.admin)),
        ("http", service(old.http), service(new.http)),
        ("workers", workers(&old.workers), workers(&new.workers)),
        ("rsa_private_key", rsa_key(old), rsa_key(new)),
    ];
    let changed = changed.map(|(key, old, new)| (format!("proxy.{key}"), old, new));
    let store = ("coordination.store".to_owned(), stores.0, stores.1);
    let saved = (
        "coordination.library_save_file".to_owned(),
        saved.0,
        saved.1,
    );
    changed
        .into_iter()
        .chain([store, saved])
        .filter(|(_, old, new)| old != new)
        .map(|(key, old, new)| {
            format!("{key} changed from {old} to {new}: takes effect after a restart")
        })
        .collect()
}

/// The addresses, in the order of the file: workers name a listener by its position.
fn listen(list: &[Listener]) -> String {
    let addresses: Vec<_> = list.iter().map(|listener| &listener.address).collect();
    format!("[{}]", join(&addresses))
}

fn service(address: Option<std::net::SocketAddr>) -> String {
    address.map_or("none".into(), |address| address.to_string())
}

/// Told apart by the first bytes of the modulus, which is public.
fn rsa_key(proxy: &Proxy) -> String {
    let Some(key) = &proxy.rsa_private_key else {
        return "none".into();
    };
    let modulus = key.n().to_bytes_be();
    let shown: String = modulus.iter().take(8).map(|b| format!("{b:02x}")).collect();
    format!("the key whose modulus begins with {shown}")
}

fn workers(workers: &Workers) -> String {
    match workers {
        Workers::Auto => "auto".into(),
        Workers::Cpus(cpus) => format!("[{}]", join(cpus)),
    }
}

fn join<T: Display>(list: &[T]) -> String {
    list.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

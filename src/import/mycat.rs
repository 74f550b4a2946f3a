//! MyCat's `schema.xml`, `rule.xml` and `server.xml`, with the map files of its functions.
mod functions;
mod nodes;
mod tables;

use super::model::{Account, Model, User};
use super::{finish, read, At, Findings, Imported};
use functions::Functions;
use nodes::DataNode;
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::BTreeMap;
use std::path::Path;

/// # Errors
/// A file cannot be read, or nothing of it would be a configuration; in words. `folder` may also be one of its files.
pub fn mycat(folder: &Path) -> Result<Imported, String> {
    let folder = match (folder.is_dir(), folder.parent()) {
        (false, Some(parent)) => parent,
        _ => folder,
    };
    let texts = ["schema.xml", "rule.xml", "server.xml"].map(|name| read(&folder.join(name)));
    let [schema, rule, server] = texts;
    let (schema, rule, server) = (schema?, rule?, server?);
    let schema = Xml::parse(&schema, &folder.join("schema.xml"))?;
    let rule = Xml::parse(&rule, &folder.join("rule.xml"))?;
    let server = Xml::parse(&server, &folder.join("server.xml"))?;
    let mut import = Import {
        model: Model {
            source: "MyCat".into(),
            ..Model::default()
        },
        findings: Findings::default(),
        data_nodes: BTreeMap::new(),
        functions: Functions::read(&rule, folder),
    };
    import.hosts(&schema);
    import.data_nodes(&schema);
    let homes = import.schemas(&schema);
    import.server(&server, &homes);
    import.model.check_accounts(&mut import.findings);
    finish(&import.model, import.findings)
}

/// One file.
struct Xml<'t> {
    file: String,
    document: Document<'t>,
}

impl<'t> Xml<'t> {
    fn parse(text: &'t str, file: &Path) -> Result<Xml<'t>, String> {
        let options = ParsingOptions {
            // the files name their DTD; entities are expanded within roxmltree's own bounds
            allow_dtd: true,
            ..ParsingOptions::default()
        };
        let file = file.display().to_string();
        let document = Document::parse_with_options(text, options);
        let document = document.map_err(|e| format!("{file}:{}: {e}", e.pos().row))?;
        Ok(Xml { file, document })
    }

    fn at(&self, node: Node<'_, '_>) -> At {
        At {
            file: self.file.clone(),
            line: self.document.text_pos_at(node.range().start).row,
        }
    }

    /// Elements of this name below the root, at any depth.
    fn all<'a>(&'a self, name: &'static str) -> impl Iterator<Item = Node<'a, 't>> {
        let root = self.document.root();
        root.descendants().filter(move |n| n.has_tag_name(name))
    }
}

/// `<property name="…">` of an element.
fn property<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    let mut properties = node.children().filter(|n| n.has_tag_name("property"));
    let found = properties.find(|n| n.attribute("name") == Some(name))?;
    found.text().map(str::trim).filter(|t| !t.is_empty())
}

struct Import {
    model: Model,
    findings: Findings,
    data_nodes: BTreeMap<String, DataNode>,
    functions: Functions,
}

impl Import {
    /// Listener and users. `homes`: schema → group of what has no rule.
    fn server(&mut self, server: &Xml<'_>, homes: &BTreeMap<String, String>) {
        let system = server.all("system").next();
        let port = system
            .and_then(|s| property(s, "serverPort"))
            .unwrap_or("8066");
        self.model.listen = format!("0.0.0.0:{port}");
        for user in server.all("user") {
            let at = server.at(user);
            let Some(name) = user.attribute("name") else {
                continue;
            };
            let is_on = |key: &str| property(user, key).is_some_and(|v| v == "1" || v == "true");
            if is_on("readOnly") {
                let what = format!("user {name:?} may only read: give it an account on the servers that may not write");
                self.findings.left_out(&at, what);
                continue;
            }
            if is_on("usingDecrypt") {
                let what = format!("user {name:?}: the password is encrypted with MyCat's key");
                self.findings.left_out(&at, what);
                continue;
            }
            let schemas = property(user, "schemas").unwrap_or_default();
            let group = schemas.split(',').find_map(|s| homes.get(s.trim()));
            let Some(group) = group else {
                let what = format!("user {name:?}: no group is known for schemas {schemas:?}");
                self.findings.left_out(&at, what);
                continue;
            };
            let account = Account {
                user: name.to_owned(),
                password: property(user, "password").unwrap_or_default().to_owned(),
            };
            self.model.users.push(User {
                account,
                group: group.clone(),
                allow: Vec::new(),
                at,
            });
        }
    }
}

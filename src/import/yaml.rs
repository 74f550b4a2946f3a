//! YAML with the line of each value, every scalar as it is written.
use saphyr_parser::{Event, Parser, Span};

/// Deeper nesting than this is no configuration.
const DEEPEST: usize = 32;

#[derive(Debug)]
pub(super) struct Node {
    pub line: u32,
    pub value: Value,
}

#[derive(Debug)]
pub(super) enum Value {
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// Of a scalar that is not empty.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) if !matches!(text.as_str(), "" | "~" | "null") => Some(text),
            _ => None,
        }
    }

    pub fn text_of(&self, key: &str) -> Option<&str> {
        self.get(key)?.text()
    }

    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    pub fn items_of(&self, key: &str) -> &[Node] {
        self.get(key).map_or(&[], Node::items)
    }
}

/// The first document.
///
/// # Errors
/// Line and words.
pub(super) fn parse(text: &str) -> Result<Node, (u32, String)> {
    let mut parser = Parser::new_from_str(text);
    loop {
        match next(&mut parser)? {
            (Event::StreamEnd, span) => return Err((line(&span), "there is nothing in it".into())),
            (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
            (event, span) => return node(&mut parser, event, &span, 0),
        }
    }
}

type Events<'t> = Parser<'t, saphyr_parser::StrInput<'t>>;

fn next<'t>(parser: &mut Events<'t>) -> Result<(Event<'t>, Span), (u32, String)> {
    match parser.next() {
        Some(Ok(event)) => Ok(event),
        Some(Err(error)) => Err((error.marker().line() as u32, error.info().to_owned())),
        None => Err((0, "the text ends too early".into())),
    }
}

fn line(span: &Span) -> u32 {
    span.start.line() as u32
}

fn node<'t>(
    parser: &mut Events<'t>,
    event: Event<'t>,
    span: &Span,
    depth: usize,
) -> Result<Node, (u32, String)> {
    let line = line(span);
    if depth > DEEPEST {
        return Err((line, "it is nested too deeply".into()));
    }
    let value = match event {
        Event::Scalar(text, ..) => Value::Text(text.into_owned()),
        Event::SequenceStart(..) => {
            let mut items = Vec::new();
            loop {
                match next(parser)? {
                    (Event::SequenceEnd, _) => break Value::List(items),
                    (event, span) => items.push(node(parser, event, &span, depth + 1)?),
                }
            }
        }
        Event::MappingStart(..) => {
            let mut entries = Vec::new();
            loop {
                let key = match next(parser)? {
                    (Event::MappingEnd, _) => break Value::Map(entries),
                    (Event::Scalar(key, ..), _) => key.into_owned(),
                    (_, span) => return Err((self::line(&span), "expected a name".into())),
                };
                let (event, span) = next(parser)?;
                entries.push((key, node(parser, event, &span, depth + 1)?));
            }
        }
        _ => return Err((line, "anchors and aliases are not read".into())),
    };
    Ok(Node { line, value })
}

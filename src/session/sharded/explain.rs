//! EXPLAIN ROUTE: what would become of a statement, without running it. A client asks in its own session; the admin port
//! asks a worker, which has no session: it plans for a user.
use super::columns::texts;
use super::dispatch::QUESTIONS;
use super::reply::Told;
use super::Session;
use crate::backend::{Account, Password};
use crate::config::Secret;
use crate::net::{self, Buf};
use crate::plan::{self, Asked, Columns, Plan, Planned, Refusal, Request};
use crate::relay::Command;
use crate::route;
use crate::scatter::{self, Collected, Failure};
use crate::session::kill_sent::apart;
use crate::session::lease::Attempt;
use crate::session::shared::{Shared, Topology};
use crate::session::End;
use crate::sniff::{self, Dialect, Sniffed};
use crate::topology::Group;
use crate::wire::{error, resultset};
use std::rc::Rc;
use std::time::Duration;

/// For the columns of one table, where no session asks.
const ASK_DEADLINE: Duration = Duration::from_millis(1500);
const LONGEST: usize = 4 << 20;

type Rows = Vec<(String, String)>;

impl Session {
    /// `at`: where the explained statement begins in the command's body.
    pub(in crate::session) async fn explain_route(
        &mut self,
        command: &Command,
        at: usize,
    ) -> Result<(), End> {
        if !command.is_whole() {
            let what = "EXPLAIN ROUTE takes statements of up to 256 KiB";
            return Err(self.tell_and_end(&error::own(what)));
        }
        let sql = command.body().get(at..).unwrap_or_default();
        let outcome = self.explained(sql).await;
        self.go_home();
        let rows = match outcome {
            Ok(rows) => rows,
            Err(told) => return self.tell_outcome(Err(told)),
        };
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(what, value)| vec![Some(what), Some(value)])
            .collect();
        let mut bytes = Vec::new();
        let status = self.reply_status();
        resultset::encode(
            &["what", "value"],
            &rows,
            status,
            self.capabilities,
            1,
            &mut bytes,
        );
        self.shared.stats.turns_local.add(1);
        self.send(Buf::from_vec(bytes));
        Ok(())
    }

    async fn explained(&mut self, sql: &[u8]) -> Result<Rows, Told> {
        let sniffed = sniff::sniff(sql, true, self.dialect);
        let mut planned = Ok(Planned::Whole { group: usize::MAX });
        for _ in 0..QUESTIONS {
            let snapshot = self.shared.snapshot();
            planned = self.plan_text(&snapshot, sql, Asked::Once);
            let Ok(Planned::Needs {
                schema,
                table,
                group,
                question,
            }) = &planned
            else {
                break;
            };
            let table = (schema.clone(), table.clone());
            let name = self.group_name(*group)?;
            self.learn_columns(&snapshot.shards, table, &name, question)
                .await?;
        }
        let snapshot = self.shared.snapshot();
        let state = self.state.clone();
        let reasons = self.ask_planner(&snapshot, sql, None, &state, |request| {
            plan::reasons(request, &|at| name_of(&snapshot, at))
        });
        let mut rows = self.routes(&snapshot, &sniffed, &planned);
        let routes = rows.split_off(rows.len().min(SNIFFED));
        rows.extend(self.explained_library(&snapshot));
        if self.in_open_transaction() {
            rows.push((
                "transaction".into(),
                "open: its own connections run what follows, reads too".into(),
            ));
        }
        rows.extend(reasons);
        rows.extend(planned_rows(&snapshot, &planned));
        rows.extend(routes);
        Ok(rows)
    }

    /// What the sniffer says, then the server that each group's part would have now.
    fn routes(
        &self,
        snapshot: &Topology,
        sniffed: &Sniffed,
        planned: &Result<Planned, Refusal>,
    ) -> Rows {
        let home = self.home();
        let mut used = planned.as_ref().map(groups_of).unwrap_or_default();
        used.dedup();
        let mut rows = Rows::new();
        let groups = || used.iter().filter_map(|at| snapshot.groups.get(*at));
        let at_home = snapshot.groups.iter().find(|g| g.name == home);
        let Some(first) = groups().next().or(at_home) else {
            return rows;
        };
        let explain = |group: &Group| {
            let decision = self.decide(group, sniffed, &Attempt::default());
            route::explain(sniffed, &decision, group)
        };
        let words = explain(first).into_iter().take(SNIFFED);
        rows.extend(words.map(|(what, value)| (what.to_owned(), value)));
        for group in groups() {
            let route: Vec<String> = explain(group)
                .into_iter()
                .skip(SNIFFED)
                .map(|(_, value)| value)
                .collect();
            rows.push((format!("route on {}", group.name), route.join(": ")));
        }
        rows
    }
}

/// Rows of [`route::explain`] that are about the statement alone: verb, access, effects, hint.
const SNIFFED: usize = 4;

/// Groups that the plan uses, in order.
fn groups_of(planned: &Planned) -> Vec<usize> {
    let mut groups: Vec<usize> = match planned {
        Planned::Whole { group } | Planned::Needs { group, .. } => vec![*group],
        Planned::NeedsIds { .. } => Vec::new(),
        Planned::Plan(Plan::Single(part)) => vec![part.group],
        Planned::Plan(Plan::Fanout(fanout)) => fanout.parts.iter().map(|p| p.group).collect(),
        Planned::Plan(Plan::Shown(shown)) => vec![shown.part.group],
        Planned::Plan(Plan::Definition(definition)) => definition
            .parts
            .iter()
            .map(|step| step.part.group)
            .collect(),
        Planned::Plan(Plan::Gather(gather)) => {
            let parts = gather.tables.iter().flat_map(|t| &t.parts);
            parts.map(|p| p.group).collect()
        }
    };
    groups.sort_unstable();
    groups.dedup();
    groups
}

fn name_of(snapshot: &Topology, group: usize) -> String {
    let group = snapshot.groups.get(group);
    group.map_or_else(|| "?".into(), |g| format!("group {}", g.name))
}

fn planned_rows(snapshot: &Topology, planned: &Result<Planned, Refusal>) -> Rows {
    match planned {
        Ok(planned) => plan::explain(planned, &|at| name_of(snapshot, at)),
        Err(refusal) => {
            let state = String::from_utf8_lossy(&refusal.state).into_owned();
            vec![
                ("plan".into(), "refused: nothing is run".into()),
                ("error".into(), format!("{} ({state})", refusal.code)),
                ("reason".into(), refusal.message.clone()),
            ]
        }
    }
}

/// What the admin port asks.
pub struct RouteQuestion {
    /// As whom columns are asked for; None: as any user of the group whose password is configured.
    pub user: Option<String>,
    /// Name of the user's group.
    pub group: String,
    /// Default schema.
    pub schema: Option<String>,
    pub sql: String,
}

/// The answer.
pub enum RouteAnswer {
    /// The whole statement goes to this group (by name), as if there were no rules.
    Whole(String),
    Rows(Vec<(String, String)>),
}

/// Plans a statement for the admin port.
pub async fn explain_for(shared: &Rc<Shared>, asked: RouteQuestion) -> RouteAnswer {
    let mut trouble = None;
    for _ in 0..QUESTIONS {
        let snapshot = shared.snapshot();
        let planned = plan_for(shared, &snapshot, &asked, plan::plan);
        let Ok(Planned::Needs {
            schema,
            table,
            group,
            question,
        }) = &planned
        else {
            return answer(shared, &snapshot, &asked, &planned);
        };
        match learn_for(shared, &snapshot, &asked, *group, question).await {
            Ok(columns) => {
                let table = (schema.clone(), table.clone());
                let now = net::now();
                shared.columns.put(&snapshot.shards, table, columns, now);
            }
            Err(why) => {
                let mut rows = planned_rows(&snapshot, &planned);
                rows.push((
                    "why".into(),
                    format!("{why}; ask in a client's session, where EXPLAIN ROUTE works too"),
                ));
                trouble = Some(rows);
                break;
            }
        }
    }
    RouteAnswer::Rows(trouble.unwrap_or_default())
}

fn answer(
    shared: &Shared,
    snapshot: &Topology,
    asked: &RouteQuestion,
    planned: &Result<Planned, Refusal>,
) -> RouteAnswer {
    if let Ok(Planned::Whole { group }) = planned {
        if let Some(group) = snapshot.groups.get(*group) {
            return RouteAnswer::Whole(group.name.clone());
        }
    }
    let mut rows = plan_for(shared, snapshot, asked, |request| {
        plan::reasons(request, &|at| name_of(snapshot, at))
    });
    rows.extend(planned_rows(snapshot, planned));
    RouteAnswer::Rows(rows)
}

fn plan_for<R>(
    shared: &Shared,
    snapshot: &Topology,
    asked: &RouteQuestion,
    ask: impl FnOnce(&Request<'_>) -> R,
) -> R {
    let now = net::now();
    let columns = |schema: &str, table: &str| {
        let known = &shared.columns;
        known.get(&snapshot.shards, schema, table, now)
    };
    let home = snapshot.groups.iter().position(|g| g.name == asked.group);
    let greeting = home
        .and_then(|at| snapshot.groups.get(at))
        .map(|g| &g.greeting);
    ask(&Request {
        sql: asked.sql.as_bytes(),
        schema: asked.schema.as_deref(),
        map: &snapshot.shards,
        columns: &columns,
        parameters: None,
        dialect: Dialect {
            mariadb: greeting.is_some_and(|g| g.is_mariadb()),
            version: greeting.map_or(0, |g| g.version_number()),
            ..Dialect::default()
        },
        home: home.unwrap_or(usize::MAX),
        held: None,
        ids: &|_, _, _| Some(1),
        zero_generates: true,
        version: None,
        seed: shared.seed(),
    })
}

async fn learn_for(
    shared: &Shared,
    snapshot: &Topology,
    asked: &RouteQuestion,
    group: usize,
    question: &str,
) -> Result<Columns, String> {
    let account = account_for(snapshot, asked)?;
    let answer = ask_directly(shared, snapshot, &account, group, question).await?;
    let mut spans = Vec::new();
    let rows = answer.rows.iter().map(|row| texts(row, &mut spans));
    Columns::read(rows).ok_or_else(|| format!("user '{}' sees no such table", account.user))
}

/// Asks a group's primary on a connection of its own, outside of any session's transaction.
pub(in crate::session) async fn ask_directly(
    shared: &Shared,
    snapshot: &Topology,
    account: &Rc<Account>,
    group: usize,
    question: &str,
) -> Result<Collected, String> {
    let group = snapshot.groups.get(group).ok_or("its group is gone")?;
    let primary = group.primary.and_then(|at| group.servers.get(at));
    let server = primary.ok_or_else(|| format!("group '{}' has no primary now", group.name))?;
    let deadline = net::now() + ASK_DEADLINE;
    let lease = apart(shared, group, server, account, deadline).await;
    let lease = lease.map_err(|cause| format!("{} cannot be asked: {cause}", server.address))?;
    let payload = super::used::query_payload(question.as_bytes(), lease.capabilities);
    let mut bytes = Vec::new();
    crate::wire::packet::frame(&payload, 0, &mut bytes);
    lease.socket.set_deadline(Some(deadline));
    let bytes = Buf::from_vec(bytes);
    let answer = scatter::ask(&lease.socket, lease.capabilities, bytes, LONGEST).await;
    answer.map_err(|why| match why {
        Failure::Refused { error, .. } => format!("{}: {error}", server.address),
        why => format!("{} did not answer: {why:?}", server.address),
    })
}

fn account_for(snapshot: &Topology, asked: &RouteQuestion) -> Result<Rc<Account>, String> {
    if let Some(name) = &asked.user {
        return account_of(snapshot, name);
    }
    let mut users: Vec<_> = snapshot.users.values().collect();
    users.sort_by(|a, b| a.config.name.cmp(&b.config.name));
    let mut of_group = users.iter().filter(|u| u.config.group == asked.group);
    of_group
        .find_map(|user| plain(user))
        .ok_or_else(|| "no user's password is known here".into())
}

/// The servers' account of a user.
///
/// # Errors
/// There is no such user, or its password is not in the configuration.
pub(super) fn account_of(snapshot: &Topology, name: &str) -> Result<Rc<Account>, String> {
    let user = snapshot.users.get(name);
    user.and_then(|user| plain(user))
        .ok_or_else(|| format!("the password of user '{name}' is not known here"))
}

fn plain(user: &crate::topology::User) -> Option<Rc<Account>> {
    let user = &user.config;
    let (name, password) = match (&user.server_account, &user.secret) {
        (Some(account), _) => (&account.user, &account.password),
        (None, Secret::Plain(password)) => (&user.name, password),
        (None, _) => return None,
    };
    let password = Password::Plain(password.as_bytes().into());
    Some(Rc::new(Account::new(name, password)))
}

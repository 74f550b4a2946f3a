//! Statements that ask about the one before: its warnings, ROW_COUNT(), FOUND_ROWS(). They run where that one ran.
use super::reply::Told;
use super::{Last, Session};
use crate::plan::{Plan, Planned, Refusal};
use crate::relay::Command;
use crate::session::lease::ASKS_ABOUT_LAST;
use crate::sniff::{Effects, Sniffed, Verb};
use crate::wire::error;

impl Session {
    pub(super) fn asks_about_last(sniffed: &Sniffed) -> bool {
        sniffed.effects.intersects(ASKS_ABOUT_LAST)
    }

    pub(super) async fn ask_about_last(
        &mut self,
        command: Command,
        sniffed: &Sniffed,
        text_at: usize,
        planned: Result<Planned, Refusal>,
    ) -> Result<(), Told> {
        let sql = command.body().get(text_at..).unwrap_or_default().to_vec();
        if !may_name_tables(sniffed, &sql) {
            self.sit_at_last(sniffed, None)?;
            self.run_query(command, *sniffed, text_at).await?;
            return Ok(());
        }
        match self.settle_plan(&sql, planned, None).await? {
            Planned::Whole { group } => {
                self.sit_at_last(sniffed, Some(&self.group_name(group)?))?;
                self.run_query(command, *sniffed, text_at).await?;
            }
            Planned::Plan(Plan::Single(part)) => {
                self.sit_at_last(sniffed, Some(&self.group_name(part.group)?))?;
                self.watch_shards(std::slice::from_ref(&part));
                self.names_shards = true;
                let command = self.command_for(&part);
                self.run_query(command, *sniffed, self.text_offset())
                    .await?;
            }
            _ => return Err(elsewhere()),
        }
        Ok(())
    }

    /// Takes the seat where the last statement ran. `group`: whose tables this one names, if it names any.
    pub(super) fn sit_at_last(
        &mut self,
        sniffed: &Sniffed,
        group: Option<&str>,
    ) -> Result<(), Told> {
        let last = self.sharded.as_ref().map(|s| s.last.clone());
        let at = match last.unwrap_or_default() {
            Last::Home => None,
            Last::Group(group) => Some(group),
            Last::Several { noted } => {
                let counts = Effects::FOUND_ROWS | Effects::ROW_COUNT;
                if noted || sniffed.effects.intersects(counts) {
                    let what = "the last statement ran on several shards: its warnings, ROW_COUNT() and FOUND_ROWS() are \
                                not kept; the reply itself has the counts";
                    return Err(error::own(what).into());
                }
                None
            }
        };
        let here = at.as_deref().unwrap_or(&self.user.config.group);
        if group.is_some_and(|group| group != here) {
            return Err(elsewhere());
        }
        self.may_use_variables(sniffed.effects, here)?;
        self.take_seat(at.as_deref());
        Ok(())
    }
}

/// A question alone names none.
pub(super) fn may_name_tables(sniffed: &Sniffed, sql: &[u8]) -> bool {
    let question = matches!(
        sniffed.verb,
        Verb::Select | Verb::Show | Verb::Get | Verb::Set | Verb::Do
    );
    !question || super::transaction::contains(sql, b"from")
}

fn elsewhere() -> Told {
    let what = "this statement asks about the one before it (warnings, ROW_COUNT(), FOUND_ROWS()) and reads tables of another \
                group than that one: ask in a statement without tables first";
    error::own(what).into()
}

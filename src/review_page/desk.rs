//! The sessions of reviewers, one each, and what they are as JSON.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};

use super::api::{
    ReviewOverview, ReviewReceipt, ReviewScreen, ReviewSource, ScreenContext, ScreenDecision,
    ScreenOutput, ScreenText, UndoneDecision,
};
use crate::review::{Decision, ReviewContext, ReviewError, ReviewItem, ReviewSession};
use eval_base::sync::lock;
use eval_base::text::hex;

/// Opens the session of a reviewer.
pub type SessionOpener = Box<dyn Fn(&str) -> Result<ReviewSession, ReviewError> + Send + Sync>;

/// The reviews of a run by several reviewers.
pub struct ReviewDesk {
    open: SessionOpener,
    sessions: Mutex<HashMap<String, Arc<Mutex<ReviewSession>>>>,
}

impl ReviewDesk {
    /// Sessions are opened when they are first needed; `opened` already are.
    pub fn new(open: SessionOpener, opened: Vec<ReviewSession>) -> ReviewDesk {
        let named = |session: ReviewSession| {
            let name = session.reviewer().to_owned();
            (name, Arc::new(Mutex::new(session)))
        };
        ReviewDesk {
            open,
            sessions: Mutex::new(opened.into_iter().map(named).collect()),
        }
    }

    fn session(&self, reviewer: &str) -> Result<Arc<Mutex<ReviewSession>>, ReviewError> {
        let mut sessions = lock(&self.sessions);
        if let Some(session) = sessions.get(reviewer) {
            return Ok(Arc::clone(session));
        }
        let session = Arc::new(Mutex::new((self.open)(reviewer)?));
        sessions.insert(reviewer.to_owned(), Arc::clone(&session));
        Ok(session)
    }

    pub fn overview(&self, reviewer: &str) -> Result<ReviewOverview, ReviewError> {
        let session = self.session(reviewer)?;
        let session = lock(&session);
        Ok(overview(&session))
    }

    pub fn screen(&self, reviewer: &str, index: usize) -> Result<ReviewScreen, ReviewError> {
        let session = self.session(reviewer)?;
        let item = lock(&session).item(index)?;
        Ok(screen(index, item))
    }

    /// Records a decision; it is written and synced when this returns.
    pub fn decide(
        &self,
        reviewer: &str,
        index: usize,
        decision: Decision,
    ) -> Result<ReviewReceipt, ReviewError> {
        let session = self.session(reviewer)?;
        let mut session = lock(&session);
        let recorded = session.decide(index, decision)?;
        Ok(ReviewReceipt {
            id: recorded.id,
            over_time: recorded.over_time,
            next: session.position(),
            progress: recorded.progress,
        })
    }

    pub fn undo(&self, reviewer: &str) -> Result<UndoneDecision, ReviewError> {
        let session = self.session(reviewer)?;
        let mut session = lock(&session);
        Ok(UndoneDecision {
            index: session.undo()?,
            progress: session.progress(),
        })
    }
}

/// What a session is about, and how far it is.
pub fn overview(session: &ReviewSession) -> ReviewOverview {
    let review = ReviewSource {
        suite: session.suite().to_owned(),
        run: session.run().to_owned(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let words = [session.suite(), session.run(), session.reviewer()].join("\n");
    let digest = Sha256::digest(words);
    ReviewOverview {
        id: hex(digest.get(..8).unwrap_or_default()),
        reviewer: Some(session.reviewer().to_owned()),
        items: session.len(),
        decided: session.decided(),
        progress: session.progress(),
        review,
    }
}

/// An item as the page shows it.
pub fn screen(index: usize, item: ReviewItem) -> ReviewScreen {
    let outputs = item.outputs.into_iter().map(|output| ScreenOutput {
        id: output.digest,
        shown: ScreenText::of(&output.text),
        changes: output.diff.as_deref().map(ScreenText::plain),
        target: output.target,
    });
    let decision = item.decided.map(|rating| ScreenDecision {
        rating,
        comment: item.comment,
    });
    ReviewScreen {
        index,
        key: item.key,
        eval: item.eval,
        case: item.case,
        input: ScreenText::of(&item.input),
        outputs: outputs.collect(),
        reference: item.reference,
        rubric: ScreenText::of(&item.rubric),
        scale: item.scale,
        time_limit_minutes: item.time_limit_minutes,
        blind: item.blind,
        adjudication: item.adjudication,
        others: item.others,
        context: item.context.as_ref().map_or_else(Vec::new, context),
        decision,
    }
}

fn context(context: &ReviewContext) -> Vec<ScreenContext> {
    let fact = |name: &str, value: String| ScreenContext {
        name: name.to_owned(),
        value,
    };
    let mut all = vec![fact("Target", context.target.clone())];
    all.extend(context.model.clone().map(|model| fact("Model", model)));
    all.extend(context.verdicts.iter().map(|verdict| {
        let score = verdict.score.map(|score| format!(", score {score}"));
        let reason = match verdict.reason.as_str() {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        let words = format!("{}{}{reason}", verdict.outcome, score.unwrap_or_default());
        fact(&verdict.grader, words)
    }));
    all
}

//! What calibrations say of the judges of a run. Pure.

use super::measure::{CHOSEN, confusion_of_rows, known, unknown, with_interval};
use crate::model::{CalibrationStatus, Estimate, LabelDraw};
use crate::spec::CalibrationFile;
use eval_stats::{LabelledShare, UndefinedReason};

/// Confidence of all intervals.
const LEVEL: f64 = 0.95;

/// The verdicts of a judge of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JudgedCounts {
    pub judged: u64,
    pub passed: u64,
    /// Independent outputs that they are worth: the number of their cases.
    pub cases: u64,
}

/// A judge of a run with the calibration that counts for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CalibratedJudge<'a> {
    pub status: CalibrationStatus,
    pub file: Option<&'a CalibrationFile>,
}

impl<'a> CalibratedJudge<'a> {
    /// Finds the calibration of a judge among those of a run: the one of its fingerprint, and of
    /// several the latest. Labels are those of this run if they are a draw of the very outputs that
    /// it judged.
    pub fn find(
        files: &'a [CalibrationFile],
        (name, fingerprint): (&str, &str),
        run: &str,
        counts: JudgedCounts,
    ) -> CalibratedJudge<'a> {
        let fits = files
            .iter()
            .filter(|file| !fingerprint.is_empty() && file.fingerprint == fingerprint);
        let is_of_run = |file: &CalibrationFile| {
            let labels = &file.labels;
            labels.run.as_deref() == Some(run)
                && (labels.judged, labels.judged_passed) == (counts.judged, counts.passed)
        };
        let best = fits.max_by_key(|file| {
            let is_random = file.labels.draw == LabelDraw::Random;
            (is_random, is_of_run(file), &file.calibrated_at)
        });
        let status = match best {
            Some(file) if file.labels.draw == LabelDraw::Chosen => CalibrationStatus::Chosen,
            Some(file) if is_of_run(file) => CalibrationStatus::ThisRun,
            Some(_) => CalibrationStatus::AnotherRun,
            None if files.iter().any(|file| file.judge == name) => CalibrationStatus::Void,
            None => CalibrationStatus::Missing,
        };
        CalibratedJudge { status, file: best }
    }

    /// The same for some of the judge's outputs, or for all of them: labels of all are not a draw of
    /// some.
    pub fn of_part(self, is_whole: bool) -> CalibratedJudge<'a> {
        let status = match self.status {
            CalibrationStatus::ThisRun if !is_whole => CalibrationStatus::AnotherRun,
            status => status,
        };
        CalibratedJudge { status, ..self }
    }

    /// How often the judge passes what people pass, and fails what people fail.
    pub fn shares(&self) -> [Estimate; 2] {
        let Some(file) = self.file else {
            return [unknown(self.lack()), unknown(self.lack())];
        };
        let confusion = confusion_of_rows(&file.confusion);
        let labels = |people: bool| confusion.count(true, people) + confusion.count(false, people);
        let share = |share: Result<LabelledShare, UndefinedReason>, people: bool| match share {
            Ok(share) => with_interval(
                share.value(),
                share.interval(LEVEL),
                labels(people) as usize,
            ),
            Err(reason) => unknown(reason),
        };
        [
            share(confusion.sensitivity(), true),
            share(confusion.specificity(), false),
        ]
    }

    /// The judge's own pass rate, and the rate that people would give to these outputs.
    pub fn rates(&self, counts: JudgedCounts) -> [Estimate; 2] {
        if counts.judged == 0 {
            return [
                unknown(UndefinedReason::NoData),
                unknown(UndefinedReason::NoData),
            ];
        }
        let share = counts.passed as f64 / counts.judged as f64;
        let judged = LabelledShare::of(share, counts.cases.min(counts.judged).max(1) as f64);
        let own = Estimate {
            n_cases: counts.judged as usize,
            ..known(share, 0)
        };
        [own, self.corrected(&judged)]
    }

    fn corrected(&self, judged: &LabelledShare) -> Estimate {
        let file = match (self.status, self.file) {
            (CalibrationStatus::ThisRun | CalibrationStatus::AnotherRun, Some(file)) => file,
            (CalibrationStatus::Chosen, _) => return unknown(CHOSEN),
            _ => return unknown(self.lack()),
        };
        let confusion = confusion_of_rows(&file.confusion);
        let rate = match self.status {
            CalibrationStatus::ThisRun => confusion.corrected_by_draw_of(judged, LEVEL),
            _ => confusion.corrected_elsewhere_of(judged, LEVEL),
        };
        match rate {
            Ok(rate) => with_interval(rate.value, Ok(rate.interval), confusion.labels() as usize),
            Err(reason) => unknown(reason),
        }
    }

    /// Why there is no figure.
    fn lack(&self) -> &'static str {
        match self.status {
            CalibrationStatus::Void => "the calibration of this name belongs to a different judge",
            CalibrationStatus::Chosen => CHOSEN,
            _ => "the judge is not calibrated",
        }
    }
}

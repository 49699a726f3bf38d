//! Estimators, intervals and resampling; pure functions of counts and scores.

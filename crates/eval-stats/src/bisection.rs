//! Search by halving.

/// A bracket, halved so often: where it is `out` and where it is not, which lie around the place
/// where that changes. 64 times is enough for all digits of an f64.
pub(super) fn bisected(
    mut out: f64,
    mut within: f64,
    halvings: usize,
    is_out: impl Fn(f64) -> bool,
) -> (f64, f64) {
    for _ in 0..halvings {
        let middle = out.midpoint(within);
        match is_out(middle) {
            true => out = middle,
            false => within = middle,
        }
    }
    (out, within)
}

use ranges::merge;

#[test]
fn ranges_that_overlap_are_merged() {
    assert_eq!(merge(vec![3..6, 1..4]), [1..6]);
}

#[test]
fn ranges_that_touch_are_merged() {
    assert_eq!(merge(vec![1..3, 3..5]), [1..5]);
}

#[test]
fn ranges_apart_stay() {
    assert_eq!(merge(vec![1..2, 3..5]), [1..2, 3..5]);
}

import unittest


def test_@PASSING@():
    assert 6 * 7 == 42


def test_@FAILING@():
    assert 6 * 7 == 41


class Canary(unittest.TestCase):
    def test_@PASSING@(self):
        self.assertEqual(6 * 7, 42)

    def test_@FAILING@(self):
        self.assertEqual(6 * 7, 41)

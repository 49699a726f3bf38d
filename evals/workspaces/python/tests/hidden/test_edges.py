import unittest

from slug import slug


class EdgeTest(unittest.TestCase):
    def test_mixed_separators(self):
        self.assertEqual(slug("a _ b"), "a-b")

    def test_underscores(self):
        self.assertEqual(slug("a__b"), "a-b")

import unittest

from slug import slug


class HiddenTest(unittest.TestCase):
    def test_mixed_separators(self):
        self.assertEqual(slug("a _ b"), "a-b")

    def test_tabs(self):
        self.assertEqual(slug("a\tb"), "a-b")

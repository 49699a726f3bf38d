import unittest

from slug import slug


class SlugTest(unittest.TestCase):
    def test_words(self):
        self.assertEqual(slug("Hello World"), "hello-world")

    def test_repeated_separators(self):
        self.assertEqual(slug("Hello   World"), "hello-world")

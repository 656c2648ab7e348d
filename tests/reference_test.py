#!/usr/bin/env python3
"""The reference of the installed headers: Doxygen has nothing to complain of, each public name has words, each class an example,
and what a newcomer looks for is found by search and by links. And headers.py, with a planted header: what it takes for words of
which name."""
import os
import pathlib
import re
import sys
import tempfile
import unittest

root = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / "docs" / "reference"))
import headers  # noqa: E402
import reference  # noqa: E402

if not reference.doxygen_program():
    print("skipped: there is no doxygen")
    sys.exit(77)

PLANTED = """// The top: says what this is for.
#pragma once

namespace unroll {

// A shelf of books (Cho et al. 2014). It has a width.
class Shelf {
 public:
  explicit Shelf(int books);
  // Takes a book; throws Error if it is full. Also put(double).
  void put(int book) {
    int twice = 2 * book;  // not a word of anything
    (void)twice;
  }
  void put(double book);
  int count() const&;
  int count() const&& = delete;
  int width = 0, height = 0;  // in cm
  int bare = 0;
  struct Row {  // of the shelf
    int place;
  };

 private:
  int hidden_ = 0;  // of nobody's business
};

struct ShelfConfig {
  int height = 3;
};

// by_size, by_name: orders of books.
void by_size(Shelf& shelf);
void by_name(Shelf& shelf);
void burn(Shelf& shelf);
enum class Wood { oak, ash };  // kinds of it

// --- tools -------------------------------------------------------
// A saw for <wood> & \\iron, 5 % off.
//   saw(oak);
int saw(Wood wood);

}  // namespace unroll
"""


class Reference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.out = pathlib.Path(cls.temporary.name)
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.warnings = reference.make(cls.out)

    def page(self, name):
        return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", (self.out / "html" / name).read_text()))

    def searched(self, word):
        """The pages that the search box leads to from the beginning of a name."""
        entries = "".join(path.read_text() for path in (self.out / "html" / "search").glob("all_*.js"))
        return {page.removeprefix("../") for entry in re.findall(rf"\['{word}[^\[]*\[(.*?)\]\]\]", entries)
                for page in re.findall(r"'(\.\./[^'#]*)", entry)}

    def test_nothing_is_lacking(self):
        self.assertEqual(self.warnings, [])
        self.assertEqual(list(reference.faults(self.out)), [])

    def test_a_newcomer_finds_five_facts_by_search_and_by_links(self):
        facts = {  # a name to search for: its page, the words on it, and the topic that leads there
            "LstmCell": ("structunroll_1_1LstmCell.html", "weight_ih [4*hidden, input]", "recurrent"),
            "Stepper": ("classunroll_1_1Stepper.html", "Throws Error if there is no such row", "inference"),
            "max_norm": ("structunroll_1_1StepOptions.html", "The global norm that gradients are clipped to", "optimizers"),
            "load_state_dict": ("group__files.html", "PyTorch", "files"),
            "zoneout_h": ("structunroll_1_1RecurrentConfig.html", "Krueger et al. 2017", "recurrent")}
        topics = (self.out / "html" / "modules.html").read_text()
        for word, (page, said, topic) in facts.items():
            self.assertIn(page, self.searched(word), word)
            self.assertIn(said, self.page(page))
            self.assertIn(f'"group__{topic}.html"', topics)
            self.assertTrue(page == f"group__{topic}.html" or f'href="{page}"' in (self.out / "html" / f"group__{topic}.html").read_text())
            room = next(each["file"] for each in reference.facts(self.out) if each["name"].endswith(word))
            self.assertIn(f">{room.rpartition('/')[2]}<", (self.out / "html" / "files.html").read_text())

    def test_pages_show_examples_and_lead_on(self):
        self.assertIn("ninja -C build libunroll.a", self.page("index.html"))
        index = (self.out / "html" / "index.html").read_text()
        for link in re.findall(r'href="(?!http)([^"#]+)', index):
            self.assertTrue((self.out / "html" / link).exists(), link)
        self.assertIn('href="tensor_8h.html"', (self.out / "html" / "files.html").read_text())
        self.assertIn("adam.step(StepOptions{.max_norm = 5});", self.page("classunroll_1_1Adam.html"))
        self.assertIn("custom_cell.cpp", self.page("examples.html"))
        for kept in ("const & ", "&&=delete", "&& =delete"):
            self.assertNotIn(f"shape () {kept}=delete", self.page("classunroll_1_1BasicTensor.html"))


class Headers(unittest.TestCase):
    def names(self, text):
        """{name: words} of a planted header, as Doxygen reads it."""
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "headers"
            source.mkdir()
            planted = pathlib.Path(folder) / "shelf.h"
            planted.write_text(text)
            (source / "shelf.h").write_text(headers.Header(planted, "wood", lambda *_: []).transformed())
            (source / "library.md").write_text("# A page\n")
            (source / "pages.dox").write_text(r"/** \defgroup wood Wood */")
            self.assertEqual(reference.doxygen(pathlib.Path(folder), source), [])
            self.facts = reference.facts(pathlib.Path(folder))
        return {each["name"]: each["words"] for each in self.facts}

    def test_comments_become_words(self):
        said = self.names(PLANTED)
        self.assertEqual(said["Shelf"], "A shelf of books (Cho et al. 2014). It has a width.")
        self.assertEqual((said["Shelf::width"], said["Shelf::height"]), ("in cm", "in cm"))
        self.assertIn("throws Error if it is full", said["Shelf::put"])
        self.assertEqual(said["by_name"], "by_size, by_name: orders of books.")
        self.assertEqual(said["ShelfConfig"], "The settings of Shelf.")
        self.assertEqual(said["Wood"], "kinds of it")
        self.assertEqual(said["Shelf::Row"], "of the shelf")
        self.assertIn("A saw for <wood> & \\iron, 5 % off.", said["saw"])
        self.assertIn("saw(oak);", said["saw"])
        self.assertNotIn("Shelf::hidden_", said)
        self.assertNotIn("not a word", " ".join(said.values()))

    def test_what_is_lacking_is_named(self):
        self.names(PLANTED)
        self.assertEqual(sorted(each["name"] for each in reference.undescribed(self.facts, [])),
                         ["Shelf::Row::place", "Shelf::bare", "Shelf::count", "ShelfConfig::height", "burn"])
        self.assertEqual([each["name"] for each in reference.undescribed(self.facts, ["*::b*", "burn", "*::height", "*::co?nt"])],
                         ["Shelf::Row::place"])
        self.assertEqual([each["name"] for each in reference.without_example(self.facts, {"shelf.h": "wood"})],
                         ["Shelf", "ShelfConfig"])
        self.assertEqual(list(reference.without_example(self.facts, {"shelf.h": reference.inside})), [])

    def test_an_example_is_the_block_of_that_name_or_the_first_that_names_it(self):
        blocks = [("a.cpp", "x", "Shelf shelf;"), ("wood.cpp", "y", "Shelf(3)"), ("a.cpp", "Row", "Row row;"), ("b.cpp", "z", "Bookshelf b;")]
        self.assertEqual(reference.example_of("Shelf", "wood", blocks)[1], "y")
        self.assertEqual(reference.example_of("Shelf", "stone", blocks)[1], "x")
        self.assertEqual(reference.example_of("Row", "wood", blocks)[1], "Row")
        self.assertIsNone(reference.example_of("Table", "wood", blocks))

    def test_each_option_of_recurrent_layers_has_the_words_of_its_row(self):
        rows = reference.options()
        text = (root / "layers/recurrent/options.h").read_text()
        self.assertEqual(len(rows), text.count("     .member = "))
        self.assertEqual(rows["RecurrentConfig", "zoneout_h"],
                         "Probability that a unit of h keeps its value of the step before (Krueger et al. 2017).")


if __name__ == "__main__":
    os.chdir(root)
    unittest.main(argv=sys.argv[:1])

// Lesson 8: agreement. The page to read: examples/lessons/08-agreement/README.md
#include "examples/lessons/08-agreement/check.h"

// How well one unit tells the number of the subject: its memory was read after sentences with a singular subject and with
// a plural one. Draw a line at the best place: the share of sentences that stand on their own side of it, 0.5 to 1.
double tells(const std::vector<double>& singular, const std::vector<double>& plural) {
  std::vector<double> places = singular;
  places.insert(places.end(), plural.begin(), plural.end());
  const double all = double(places.size());
  double best = 0;
  for (const double line : places) {
    double right = 0;  // sentences, if plural is where the values are large
    for (const double value : singular) right += value < line;
    for (const double value : plural) right += value >= line;
    // ---- your part: keep the best share in `best`

    // ---- end of your part
  }
  return best;
}

void lesson() {
  check_tells(tells);
  const Demo demo(trained_demo());
  const double worst = show_agreement(demo);

  // Which units tell the number, just before the verb?
  std::vector<Unit> units;
  const Readings singular = read_cases(demo, Number::singular), plural = read_cases(demo, Number::plural);
  for (int layer = 0; layer < layers; ++layer)
    for (int k = 0; k < demo.units(); ++k)
      units.push_back({layer, k, tells(singular.of(layer, k), plural.of(layer, k)),
                       mean(singular.of(layer, k)), mean(plural.of(layer, k))});
  std::ranges::sort(units, std::greater<>(), &Unit::tells);
  for (const Unit& unit : std::span(units).first(5))
    fmt::print(
        "layer {} unit {:3}: tells the number in {:5.1f} % (mean {:+.2f} if singular, {:+.2f} if plural)\n",
        unit.layer + 1, unit.number, 100 * unit.tells, unit.singular, unit.plural);

  // And are they what the verb is chosen by? Hold some of them at the other number's mean while the sentence is read.
  std::vector<Overwritten> flips;
  for (size_t count = 0; count <= units.size(); count = count ? 2 * count : 1)
    flips.push_back({count, right_verb(demo, std::span(units).first(count))});
  check_units(units, flips, worst);
}

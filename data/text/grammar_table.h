// The built-in grammar as a table; grammar.cpp reads it.
//
// A symbol is a name with features behind dots. A single letter among them is a variable. Standing on the
// left, it makes one rule for each of its values; standing only on the right, its value is drawn, with these
// probabilities:
//
//   n m   number: sg or pl, below
//   c k   kind of a noun, below
//   o     kind of an object, given the kind c of its subject: the shares of `verbs_between`
//   s     kind of a subject, given the kind c of its object, by Bayes' rule from both
//
// The number at the end of np, rc, act and clause is how many relative clauses may still nest. Everything attaches
// in one way only: a prepositional phrase precedes a relative clause and contains neither, a noun has at most one
// of each, adverbs stand before their verb, and relative clauses are not coordinated.
#pragma once

namespace unroll::grammar_table {

struct Choice {
  const char* value;
  double probability;
};
constexpr Choice numbers[] = {{"sg", 0.55}, {"pl", 0.45}};
constexpr Choice kinds[] = {
    {"person", 0.36}, {"animal", 0.24}, {"vehicle", 0.16}, {"food", 0.12}, {"tool", 0.12}};

struct Template {
  const char* left;
  double probability;
  const char* right;
};
constexpr Template templates[] = {
    {"sentence", 0.64, "clause.2 ."},
    {"sentence", 0.10, "if clause.1 then clause.1 ."},
    {"sentence", 0.10, "either clause.1 or clause.1 ."},
    {"sentence", 0.16, "aux.n np.c.n.2 act.c.pl.1 ?"},  // does the dog growl ? the verb is plural in any case

    {"clause.2", 1.00, "np.c.n.2 vp.c.n"},
    {"clause.1", 1.00, "np.c.n.1 pred.c.n"},

    {"np.c.n.2", 0.42, "core.c.n"},
    {"np.c.n.2", 0.26, "core.c.n pp"},
    {"np.c.n.2", 0.22, "core.c.n rc.c.n.2"},
    {"np.c.n.2", 0.10, "core.c.n pp rc.c.n.2"},
    {"np.c.n.1", 0.66, "core.c.n"},
    {"np.c.n.1", 0.22, "core.c.n pp"},
    {"np.c.n.1", 0.10, "core.c.n rc.c.n.1"},
    {"np.c.n.1", 0.02, "core.c.n pp rc.c.n.1"},
    {"np.c.n.0", 0.75, "core.c.n"},
    {"np.c.n.0", 0.25, "core.c.n pp"},
    {"core.c.n", 0.65, "det.n noun.c.n"},
    {"core.c.n", 0.35, "det.n adjective noun.c.n"},
    {"pp", 1.00, "preposition core.k.m"},

    {"rc.c.n.2", 0.50, "that act.c.n.1"},            // the keys that please the man
    {"rc.c.n.2", 0.50, "that np.s.m.1 verb.s.c.m"},  // the keys that the man near the cars loses
    {"rc.c.n.1", 0.50, "that act.c.n.0"},
    {"rc.c.n.1", 0.50, "that np.s.m.0 verb.s.c.m"},

    {"vp.c.n", 0.80, "pred.c.n"},
    {"vp.c.n", 0.20, "pred.c.n and pred.c.n"},
    {"pred.c.n", 0.80, "act.c.n.1"},
    {"pred.c.n", 0.10, "be.n state.c"},
    {"pred.c.n", 0.10, "be.n degree state.c"},
    {"act.c.n.1", 0.75, "do.c.n.1"},
    {"act.c.n.1", 0.25, "adverb do.c.n.1"},
    {"act.c.n.0", 0.80, "do.c.n.0"},
    {"act.c.n.0", 0.20, "adverb do.c.n.0"},
    {"do.c.n.1", 0.35, "verb.c.n"},
    {"do.c.n.1", 0.65, "verb.c.o.n np.o.m.1"},
    {"do.c.n.0", 0.40, "verb.c.n"},
    {"do.c.n.0", 0.60, "verb.c.o.n np.o.m.0"},
};

// Words of one symbol: the r-th is drawn with a probability proportional to 1 / (r + 1).
struct Words {
  const char* symbol;
  const char* words;
};
constexpr Words lexicon[] = {
    {"det.sg", "the this every one"},
    {"det.pl", "the these some many"},
    {"be.sg", "is"},
    {"be.pl", "are"},
    {"aux.sg", "does"},
    {"aux.pl", "do"},
    {"preposition", "near behind beside above"},
    {"adverb", "often never quickly always slowly rarely"},
    {"degree", "very quite rather"},
    {"adjective", "old big new small strange red lovely heavy green cheap"},

    {"noun.person.sg", "man woman child doctor teacher farmer student nurse neighbor sailor"},
    {"noun.person.pl", "men women children doctors teachers farmers students nurses neighbors sailors"},
    {"noun.animal.sg", "dog cat horse bird cow mouse goat fox"},
    {"noun.animal.pl", "dogs cats horses birds cows mice goats foxes"},
    {"noun.vehicle.sg", "car truck bus train boat tractor van"},
    {"noun.vehicle.pl", "cars trucks buses trains boats tractors vans"},
    {"noun.food.sg", "apple cake potato sandwich carrot pancake lemon"},
    {"noun.food.pl", "apples cakes potatoes sandwiches carrots pancakes lemons"},
    {"noun.tool.sg", "key hammer knife ladder rope saw shovel"},
    {"noun.tool.pl", "keys hammers knives ladders ropes saws shovels"},

    {"state.person", "tired kind clever famous polite"},
    {"state.animal", "hungry wild tame lazy furry"},
    {"state.vehicle", "empty noisy crowded reliable electric"},
    {"state.food", "fresh sweet sour tasty ripe"},
    {"state.tool", "sharp broken handy rusty blunt"},

    {"verb.person.sg", "sleeps works laughs sings travels"},
    {"verb.person.pl", "sleep work laugh sing travel"},
    {"verb.animal.sg", "runs jumps hides growls yawns"},
    {"verb.animal.pl", "run jump hide growl yawn"},
    {"verb.vehicle.sg", "stops turns starts rattles skids"},
    {"verb.vehicle.pl", "stop turn start rattle skid"},
    {"verb.food.sg", "cools smells rots melts drips"},
    {"verb.food.pl", "cool smell rot melt drip"},
    {"verb.tool.sg", "falls bends rusts slips cracks"},
    {"verb.tool.pl", "fall bend rust slip crack"},
};

// Verbs between a kind of subject and a kind of object. `share`: of that kind among the subject's objects.
struct VerbsBetween {
  const char *subject, *object;
  double share;
  const char *singular, *plural;
};
constexpr VerbsBetween verbs_between[] = {
    {"person", "person", 0.20, "greets helps visits thanks", "greet help visit thank"},
    {"person", "animal", 0.20, "feeds calls washes strokes", "feed call wash stroke"},
    {"person", "food", 0.25, "eats cooks orders peels", "eat cook order peel"},
    {"person", "tool", 0.20, "uses loses borrows sharpens", "use lose borrow sharpen"},
    {"person", "vehicle", 0.15, "drives parks repairs sells", "drive park repair sell"},
    {"animal", "animal", 0.45, "chases follows fights hunts", "chase follow fight hunt"},
    {"animal", "person", 0.30, "bites licks scares trusts", "bite lick scare trust"},
    {"animal", "food", 0.25, "steals sniffs devours nibbles", "steal sniff devour nibble"},
    {"vehicle", "person", 0.40, "carries delays frightens", "carry delay frighten"},
    {"vehicle", "vehicle", 0.35, "passes overtakes blocks hits", "pass overtake block hit"},
    {"vehicle", "tool", 0.25, "hauls crushes delivers", "haul crush deliver"},
    {"food", "person", 0.60, "pleases tempts sickens", "please tempt sicken"},
    {"food", "animal", 0.40, "attracts nourishes poisons", "attract nourish poison"},
    {"tool", "food", 0.60, "cuts slices splits", "cut slice split"},
    {"tool", "person", 0.40, "hurts serves protects", "hurt serve protect"},
};

}  // namespace unroll::grammar_table

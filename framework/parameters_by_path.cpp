// Looks parameters up by their paths, for people, who may misspell them.
#include "framework/nearest.h"
#include "framework/parameters.h"

namespace unroll {

Parameter& ParameterSet::at(std::string_view name) const& {
  if (Parameter* const found = find(name)) return *found;
  std::vector<std::string> names;
  for (const Parameter* p : all()) names.push_back(p->name);
  throw Error(fmt::format("parameters: there is no '{}'{}", name, did_you_mean(nearest(name, names))));
}

std::vector<Parameter*> ParameterSet::under(std::string_view path) const& {
  std::vector<Parameter*> found;
  for (Parameter* p : all())
    if (path.empty() ||
        (p->name.starts_with(path) && (p->name.size() == path.size() || p->name[path.size()] == '.')))
      found.push_back(p);
  require(!found.empty(), "parameters: there are none under '{}'; the first is '{}'", path,
          all().empty() ? "" : all().front()->name);
  return found;
}

}  // namespace unroll

// With first.cpp: a violation of the One Definition Rule that the check must find.
#include <vector>

namespace flitgym {

struct Defined {
  unsigned count;
  std::vector<double> values;
  void add() { values.push_back(count); }
};

void second() {
  Defined value{1, {}};
  value.add();
}

}  // namespace flitgym

// With second.cpp: a violation of the One Definition Rule that the check must find.
#include <vector>

namespace flitgym {

struct Defined {
  unsigned count;
  std::vector<int> values;
  void add() { values.push_back(static_cast<int>(count)); }
};

void first() {
  Defined value{1, {}};
  value.add();
}

}  // namespace flitgym

#include "support/crafted.hpp"

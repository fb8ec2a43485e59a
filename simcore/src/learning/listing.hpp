// The candidates of any routing, without a choice among them.
#pragma once

#include <memory>
#include <string>

#include "simcore/state.hpp"

namespace flitgym::learning {

// Returns the network whose candidates() lists the choices of a routing, or null if the routing lists them itself.
// Otherwise a relation of the same name lists them. `where` begins the message of a ConfigError.
std::unique_ptr<const Network> listing_network(const Network&, const std::string& where);
// Lists the candidates of the batch's requests. Changes that the listing makes to their packets are undone.
void list_candidates_of(const Network&, const Network* listing, State&, Batch&);

}  // namespace flitgym::learning

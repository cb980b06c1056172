// Surveys of lists of ends on the CPU: the kernel of the GPU, as a block of one thread runs it.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <vector>

namespace {
namespace one_lane {

struct Slot {
  unsigned entry;
  double key;
};

// By group, then by key; none of the keys is NaN.
inline void sort_slots(double* keys, unsigned* entries, unsigned count) {
  static thread_local std::vector<Slot> slots;
  slots.resize(count);
  for (unsigned i = 0; i < count; ++i) slots[i] = {entries[i], keys[i]};
  std::sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) {
    const unsigned one = a.entry >> 30, other = b.entry >> 30;
    return one != other ? one < other : a.key < b.key;
  });
  for (unsigned i = 0; i < count; ++i) {
    entries[i] = slots[i].entry;
    keys[i] = slots[i].key;
  }
}

#define PM_THREADS 1
#define PM_ONE_LANE
#include "../src/polymargin/gpu/kernel/numbers.cuh"
#include "../src/polymargin/gpu/kernel/survey.cuh"

}  // namespace one_lane
}  // namespace

namespace polymargin {

using one_lane::Lists;

inline const one_lane::Complex* pairs(const std::complex<double>* values) { return reinterpret_cast<const one_lane::Complex*>(values); }
inline one_lane::Complex* pairs(std::complex<double>* values) { return reinterpret_cast<one_lane::Complex*>(values); }

// What is written is zero before; a list of no points stays unclear.
inline void survey(Lists& lists) {
  if (lists.point_count == 0) return;
  lists.slots = lists.point_count;
  std::vector<double> keys(lists.slots);
  std::vector<unsigned> entries(lists.slots);
  double best[1];
  unsigned owners[1], counts[6];
  one_lane::Surveyor surveyor{lists, keys.data(), best, entries.data(), owners, counts, 0, nullptr, nullptr};
  for (unsigned list = 0; list < lists.list_count; ++list) surveyor.survey(list);
}

}  // namespace polymargin

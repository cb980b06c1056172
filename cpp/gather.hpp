// Solutions of real systems, gathered from the ends of several sets of paths.
//
// With a solution its conjugate is one, so every end that is clearly not real brings two. Newton's last correction says how well
// an end is known; it is new if it is further from everything known than a large multiple of that. Whatever is neither new nor
// known for certain, or neither real nor complex for certain, is left out. So what is gathered are different solutions, and a
// list is complete when it has as many as there can be.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>

#include "parallel.hpp"

namespace polymargin {

struct Gathering {
  std::int64_t rows, ends, most, size;       // ends of each row, solutions that a list can have, unknowns
  const std::int64_t* lists;                 // (rows,) the list that a row belongs to, each of them once
  const std::complex<double>* found;         // (rows, ends, size)
  const bool* usable;                        // (rows, ends)
  const double* corrections;                 // (rows, ends), relative
  std::complex<double>* known;               // (lists, most, size): the first counts[list] are there
  double* margins;                           // (lists, most): how far from a known point others begin, relative
  std::int32_t *counts, *real_counts;        // (lists,); a count of most + 1: more than there can be
  double real, same, multiple;               // imaginary parts that are rounding, the least margin, margins over corrections
};

// Points are told by their coordinates without the last one, a multiplier that follows from the others.
class Gatherer {
 public:
  explicit Gatherer(const Gathering& job) : job_(job), coordinates_(job.size - 1) {}

  void gather(std::int64_t row) {
    const std::int64_t list = job_.lists[row];
    for (std::int64_t e = 0; e < job_.ends && job_.counts[list] <= job_.most; ++e)
      if (job_.usable[row * job_.ends + e])
        add(list, job_.found + (row * job_.ends + e) * job_.size, job_.multiple * job_.corrections[row * job_.ends + e]);
  }

 private:
  using Number = std::complex<double>;

  void add(std::int64_t list, const Number* end, double margin) {
    if (!(margin > job_.same)) margin = job_.same;
    double largest = 0.0, imaginary = 0.0;
    for (std::int64_t j = 0; j < coordinates_; ++j) {
      const double magnitude = std::abs(end[j]);
      if (!(magnitude < 1e300)) return;
      if (magnitude > largest) largest = magnitude;
      if (std::abs(end[j].imag()) > imaginary) imaginary = std::abs(end[j].imag());
    }
    const double size = 1.0 + largest;
    const bool real = imaginary <= job_.real * size;
    if (!real && imaginary <= margin * size) return;
    std::int32_t& count = job_.counts[list];
    Number* const known = job_.known + list * job_.most * job_.size;
    double* const margins = job_.margins + list * job_.most;
    for (std::int32_t k = 0; k < count; ++k)
      if (near(known + k * job_.size, end, (margins[k] > margin ? margins[k] : margin) * size)) return;
    const std::int32_t more = real ? 1 : 2;
    if (count + more > job_.most) {
      count = static_cast<std::int32_t>(job_.most + 1);
      return;
    }
    Number* const place = known + count * job_.size;
    for (std::int64_t j = 0; j < job_.size; ++j) {
      place[j] = end[j];
      if (!real) place[job_.size + j] = std::conj(end[j]);
    }
    for (std::int32_t k = 0; k < more; ++k) margins[count + k] = margin;
    count += more;
    job_.real_counts[list] += real;
  }

  bool near(const Number* one, const Number* other, double distance) const {
    for (std::int64_t j = 0; j < coordinates_; ++j)
      if (std::abs(one[j].real() - other[j].real()) > distance || std::abs(one[j].imag() - other[j].imag()) > distance) return false;
    return true;
  }

  const Gathering& job_;
  const std::int64_t coordinates_;
};

// All rows, on several threads.
inline void run_gathering(const Gathering& job, int threads) {
  for_rows(job.rows, 64, threads, [&] { return [gatherer = Gatherer(job)](std::int64_t row) mutable { gatherer.gather(row); }; });
}

}  // namespace polymargin

// A quadric seen from points: the value of B there and its gradient in the eigenbasis, a few points at a time.
//
// A matrix is read once for all points of a group. What a point gets does not depend on the others: every sum runs
// over the numbers that go in, one after another, in the lanes of those that come out.
#pragma once

#include "interface.hpp"
#include "lanes.hpp"

namespace PM_ISA {

using polymargin::kPadding;
using polymargin::Quadric;

constexpr int kGroup = 4;  // points looked at together
constexpr int kPacks = kVectorRegisters / 8;  // packs of a row of a matrix that are summed in registers, for each of these

inline std::int64_t padded(std::int64_t size) { return (size + kPadding - 1) / kPadding * kPadding; }

inline Lanes load(const double* from) {
  Lanes lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
inline void store(double* to, Lanes lanes) { __builtin_memcpy(to, &lanes, sizeof lanes); }

inline double total(Lanes sum) {
  double result = 0.0;
  for (int lane = 0; lane < kLanes; ++lane) result += sum[lane];
  return result;
}

// What a function of every pack adds up to, over a padded vector.
template <class Term> double sum_of(std::int64_t size, const Term& term) {
  Lanes sum = broadcast(0.0);
  for (std::int64_t i = 0; i < padded(size); i += kLanes) sum += term(i);
  return total(sum);
}

template <int count, int packs>
void products(const double* const* in, std::int64_t length, const double* matrix, std::int64_t width, const double* bias, double* const* out) {
  Lanes sums[count][packs];
  PM_UNROLL
  for (int p = 0; p < packs; ++p) {
    const Lanes start = bias ? load(bias + p * kLanes) : broadcast(0.0);
    PM_UNROLL
    for (int r = 0; r < count; ++r) sums[r][p] = start;
  }
  for (std::int64_t i = 0; i < length; ++i) {
    PM_UNROLL
    for (int p = 0; p < packs; ++p) {
      const Lanes entries = load(matrix + i * width + p * kLanes);
      PM_UNROLL
      for (int r = 0; r < count; ++r) sums[r][p] = fused(broadcast(in[r][i]), entries, sums[r][p]);
    }
  }
  PM_UNROLL
  for (int r = 0; r < count; ++r) {
    PM_UNROLL
    for (int p = 0; p < packs; ++p) store(out[r] + p * kLanes, sums[r][p]);
  }
}

// out = bias + in * matrix for a group of rows; the matrix (length, size) is padded, and so is what comes out.
inline void multiply(int count, const double* const* in, std::int64_t length, const double* matrix, std::int64_t size, const double* bias,
                     double* const* out) {
  const std::int64_t width = padded(size);
  double* here[kGroup] = {};
  for (std::int64_t first = 0; first < width;) {
    const bool wide = width - first >= kPacks * kLanes;
    for (int r = 0; r < count; ++r) here[r] = out[r] + first;
    const double* start = bias ? bias + first : nullptr;
    if (count == kGroup) {
      if (wide)
        products<kGroup, kPacks>(in, length, matrix + first, width, start, here);
      else
        products<kGroup, 1>(in, length, matrix + first, width, start, here);
    } else {
      for (int r = 0; r < count; ++r) {
        if (wide)
          products<1, kPacks>(in + r, length, matrix + first, width, start, here + r);
        else
          products<1, 1>(in + r, length, matrix + first, width, start, here + r);
      }
    }
    first += wide ? kPacks * kLanes : kLanes;
  }
}

class QuadricViews {
 public:
  // For a group: the points (one step beyond them), hidden values, gradients.
  static std::int64_t bytes(const Quadric& quadric) {
    return kGroup * (2 * padded(quadric.inputs) + padded(quadric.hidden) + 2 * padded(quadric.size)) * std::int64_t(sizeof(double));
  }

  QuadricViews(const Quadric& quadric, void* memory) : quadric_(quadric) {
    double* free = static_cast<double*>(memory);
    const auto take = [&](std::int64_t size) { return (free += padded(size)) - padded(size); };
    for (int r = 0; r < kGroup; ++r) {
      points[r] = take(quadric.inputs);
      moved[r] = take(quadric.inputs);
      hidden_[r] = take(quadric.hidden);
      gradients[r] = take(quadric.size);
      inner[r] = take(quadric.size);
    }
  }

  // Fetches a point into the group; what is padding becomes zero.
  void fetch(int r, const double* point) {
    for (std::int64_t i = 0; i < padded(quadric_.inputs); ++i) points[r][i] = i < quadric_.inputs ? point[i] : 0.0;
  }

  // Values and gradients at `count` points x of the group.
  void see(double* const* x, int count) {
    const Quadric& q = quadric_;
    const double two = 2.0;
    multiply(count, x, q.inputs, q.weights, q.hidden, q.bends ? q.bias : nullptr, hidden_);
    for (int r = 0; r < count; ++r) {
      double* y = hidden_[r];
      const double* other = x[r];
      if (q.bends) {
        values[r] = q.constant + sum_of(q.hidden, [&](std::int64_t i) { return load(y + i) * fused(load(y + i), load(q.bends + i), load(q.slopes + i)); });
        for (std::int64_t i = 0; i < padded(q.hidden); i += kLanes)
          store(y + i, fused(two * load(q.bends + i), load(y + i), load(q.slopes + i)));
      } else {
        values[r] = q.constant + sum_of(q.hidden, [&](std::int64_t i) { return load(other + i) * (load(y + i) + load(q.slopes + i)); });
      }
    }
    multiply(count, q.bends ? hidden_ : x, q.bends ? q.hidden : q.inputs, q.map, q.size, nullptr, gradients);
    if (q.bends) return;
    for (int r = 0; r < count; ++r)
      for (std::int64_t i = 0; i < q.size; ++i) gradients[r][i] = two * q.eigenvalues[i] * gradients[r][i] + q.bias[i];
  }

  void see_all(const double* rows, std::int64_t count, double* all_values, double* all_gradients) {
    for (std::int64_t first = 0; first < count; first += kGroup) {
      const int here = count - first < kGroup ? static_cast<int>(count - first) : kGroup;
      for (int r = 0; r < here; ++r) fetch(r, rows + (first + r) * quadric_.inputs);
      see(points, here);
      for (int r = 0; r < here; ++r) {
        all_values[first + r] = values[r];
        for (std::int64_t i = 0; i < quadric_.size; ++i) all_gradients[(first + r) * quadric_.size + i] = gradients[r][i];
      }
    }
  }

  double* points[kGroup];
  double* moved[kGroup];      // for points that somebody moved
  double* gradients[kGroup];
  double* inner[kGroup];      // for steps in the eigenbasis
  double values[kGroup];

 private:
  const Quadric& quadric_;
  double* hidden_[kGroup];
};

}  // namespace PM_ISA

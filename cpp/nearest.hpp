// The nearest points of a quadric to many points: seen from each, the secular equation solved, one step of Newton's method onto the
// boundary, and whether rounding may have decided; polymargin/quadric/nearest.py says why.
#pragma once

#include "quadric_views.hpp"
#include "secular.hpp"

namespace PM_ISA {

class NearestRows {
 public:
  static std::int64_t bytes(const Quadric& quadric) { return Secular::bytes(quadric.size) + QuadricViews::bytes(quadric); }

  NearestRows(const NearestJob& job, void* memory)
      : job_(job), quadric_(job.quadric), secular_(job, memory), views_(job.quadric, static_cast<char*>(memory) + Secular::bytes(job.quadric.size)) {}

  void solve_all() {
    for (std::int64_t first = 0; first < job_.rows; first += kGroup)
      solve(first, job_.rows - first < kGroup ? static_cast<int>(job_.rows - first) : kGroup);
  }

 private:
  const NearestJob& job_;
  const Quadric& quadric_;
  Secular secular_;
  QuadricViews views_;

  static double length(const double* vector, std::int64_t size) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < size; ++i) sum += vector[i] * vector[i];
    return __builtin_sqrt(sum);
  }
  static double padded_length(const double* vector, std::int64_t size) {
    return __builtin_sqrt(sum_of(size, [&](std::int64_t i) { return load(vector + i) * load(vector + i); }));
  }

  // Sets what rounding can account for to zero; the size of the terms of the value.
  double clean(int r, const double* x) {
    const double far = padded_length(x, quadric_.inputs);
    const double value_size = (quadric_.sizes[0] * far + quadric_.sizes[1]) * far + quadric_.sizes[2];
    const double least_slope = job_.noise * (2 * quadric_.sizes[0] * far + quadric_.sizes[1]);
    if (__builtin_fabs(views_.values[r]) <= job_.noise * value_size) views_.values[r] = 0.0;
    double* gradient = views_.gradients[r];
    for (std::int64_t i = 0; i < quadric_.size; ++i) {
      if (__builtin_fabs(gradient[i]) <= least_slope) gradient[i] = 0.0;
      if (job_.fixed[i] == job_.fixed[i]) gradient[i] = job_.fixed[i];
    }
    return value_size;
  }

  void solve(std::int64_t first, int count) {
    for (int r = 0; r < count; ++r) views_.fetch(r, job_.points + job_.chosen[first + r] * quadric_.inputs);
    views_.see(views_.points, count);
    for (int r = 0; r < count; ++r) {
      const std::int64_t row = first + r;
      const double value_size = clean(r, views_.points[r]);
      secular_.solve(row, views_.values[r], views_.gradients[r], value_size);
      job_.doubtful[row] = is_doubtful(row, views_.values[r], value_size);
    }
    move(first, count);
    views_.see(views_.moved, count);
    for (int r = 0; r < count; ++r) {
      const NearestKind kind = static_cast<NearestKind>(job_.kinds[first + r]);
      clean(r, views_.moved[r]);
      if (kind == NearestKind::regular || kind == NearestKind::sphere) correct(first + r, r);
      const double* step = job_.steps + (first + r) * quadric_.size;
      job_.distances[first + r] = kind == NearestKind::empty ? __builtin_inf() : length(step, quadric_.size);
    }
  }

  bool is_doubtful(std::int64_t row, double value, double value_size) const {
    const bool unseen = !(job_.noise * value_size <= job_.largest_doubt * __builtin_fabs(value));
    if (static_cast<NearestKind>(job_.kinds[row]) != NearestKind::regular) return unseen;
    const double multiplier = job_.multipliers[row];
    const double smallest = 1 + 2 * multiplier * quadric_.eigenvalues[multiplier > 0.0 ? 0 : quadric_.size - 1];
    return unseen || !(2 * __builtin_fabs(multiplier) * job_.tolerance <= job_.largest_doubt * smallest);
  }

  // The points that the steps lead to.
  void move(std::int64_t first, int count) {
    const double* steps[kGroup] = {};
    for (int r = 0; r < count; ++r) steps[r] = job_.steps + (first + r) * quadric_.size;
    multiply(count, steps, quadric_.size, job_.rotation, quadric_.size, nullptr, job_.basis ? views_.inner : views_.moved);
    if (job_.basis) multiply(count, views_.inner, quadric_.size, job_.basis, quadric_.inputs, nullptr, views_.moved);
    for (int r = 0; r < count; ++r)
      for (std::int64_t i = 0; i < quadric_.inputs; ++i) views_.moved[r][i] += views_.points[r][i];
  }

  void correct(std::int64_t row, int r) {
    double* step = job_.steps + row * quadric_.size;
    const double* gradient = views_.gradients[r];
    const double slope = padded_length(gradient, quadric_.size), size = length(step, quadric_.size), value = views_.values[r];
    const double correction = __builtin_fabs(value) / slope;
    if (correction <= job_.largest_correction * size)
      for (std::int64_t i = 0; i < quadric_.size; ++i) step[i] -= value / (slope * slope) * gradient[i];
    if (!(correction <= job_.largest_miss * size)) job_.doubtful[row] = 1;
  }
};

}  // namespace PM_ISA

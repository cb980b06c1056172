// Real zeros of polynomials in one variable, counted with a proof: Descartes' rule of signs in Bernstein's basis.
//
// The line is four intervals: p and its reversal, x and -x, each on [0, 1]. In Bernstein's basis of an interval a polynomial has at most
// as many zeros inside as its coefficients change their sign, and as many modulo two; so no change means none and one
// change means one. Otherwise the interval is halved (de Casteljau). Coefficients carry a bound for all rounding errors so far,
// and a sign counts only beyond it. Where that does not lead to an end, nothing is said.
//
// Errors: a midpoint (a + b) / 2 is off by at most u max(|a|, |b|), u = 2^-53, and n of them follow each other; a first
// coefficient is a sum of up to n + 1 products of a quotient of exact binomials with a given number. Both bounds are taken twice.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "parallel.hpp"

namespace polymargin {

class RealZeros {
 public:
  static constexpr std::int32_t kUnknown = -1;
  static constexpr int kLargestDegree = 50;  // binomials are exact

  explicit RealZeros(int degree) : degree_(degree), weights_((degree + 1) * (degree + 1)) {
    std::vector<double> row(degree + 1, 0.0), last;
    row[0] = 1.0;
    for (int j = 1; j <= degree; ++j)
      for (int i = j; i > 0; --i) row[i] += row[i - 1];
    last = row;  // the binomials of the degree
    row.assign(degree + 1, 0.0);
    row[0] = 1.0;
    for (int j = 0; j <= degree; ++j) {
      for (int i = 0; i <= j; ++i) weights_[j * (degree + 1) + i] = row[i] / last[i];
      for (int i = j + 1; i > 0; --i)
        if (i <= degree) row[i] += row[i - 1];
    }
  }

  // Distinct real zeros of sum_k coefficients[k] x^k, or kUnknown.
  std::int32_t count(const double* coefficients) {
    if (!(coefficients[0] != 0.0) || !(coefficients[degree_] != 0.0)) return kUnknown;
    std::int32_t total = 0;
    for (const bool reversed : {false, true})
      for (const double sign : {1.0, -1.0}) {
        const std::int32_t inside = count_inside(coefficients, reversed, sign);
        if (inside == kUnknown) return kUnknown;
        total += inside;
      }
    return total;
  }

 private:
  static constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  static constexpr int kDeepest = 60;

  struct Piece {
    double error;
    int depth;
  };

  std::int32_t count_inside(const double* coefficients, bool reversed, double sign) {
    const int n = degree_, length = n + 1;
    double given[kLargestDegree + 1];
    double factor = 1.0;
    for (int i = 0; i <= n; ++i, factor *= sign) given[i] = factor * coefficients[reversed ? n - i : i];
    stack_.resize(length);
    pieces_.clear();
    double largest = 0.0;
    for (int j = 0; j <= n; ++j) {
      double sum = 0.0, size = 0.0;
      for (int i = 0; i <= j; ++i) {
        const double term = weights_[j * length + i] * given[i];
        sum += term;
        size += std::abs(term);
      }
      stack_[j] = sum;
      if (size > largest) largest = size;
    }
    if (!(largest < 1e300) || !(largest > 1e-250)) return kUnknown;
    pieces_.push_back({(length + 2) * kEpsilon * largest, 0});
    std::int32_t zeros = 0;
    while (!pieces_.empty()) {
      const Piece piece = pieces_.back();
      double* const b = stack_.data() + (pieces_.size() - 1) * length;
      if (!(std::abs(b[0]) > piece.error) || !(std::abs(b[n]) > piece.error)) return kUnknown;  // an end may be a zero
      const int changes = sign_changes(b, piece.error);
      if (changes == 0 || changes == 1) {
        zeros += changes;
        pieces_.pop_back();
      } else if (piece.depth == kDeepest) {
        return kUnknown;
      } else {
        halve(piece);
      }
    }
    return zeros;
  }

  // How often the sign changes; more than once if some sign is not known.
  int sign_changes(const double* b, double error) const {
    int changes = 0;
    bool positive = b[0] > 0.0;
    for (int j = 1; j <= degree_; ++j) {
      if (!(std::abs(b[j]) > error)) return 2;
      changes += (b[j] > 0.0) != positive;
      positive = b[j] > 0.0;
    }
    return changes;
  }

  // The last piece becomes two: its left half in its place, its right half behind.
  void halve(Piece piece) {
    const int n = degree_, length = n + 1;
    const std::size_t place = (pieces_.size() - 1) * length;
    stack_.resize(place + 2 * length);
    double* const left = stack_.data() + place;
    double* const right = left + length;
    double largest = 0.0;
    for (int j = 0; j <= n; ++j) {
      right[j] = left[j];
      if (std::abs(left[j]) > largest) largest = std::abs(left[j]);
    }
    for (int level = 1; level <= n; ++level) {
      for (int j = 0; j <= n - level; ++j) right[j] = 0.5 * (right[j] + right[j + 1]);
      left[level] = right[0];
    }
    // right[j] now is the point of level n - j at j: the coefficients of the right half in order.
    piece.error += length * kEpsilon * (largest + piece.error);
    ++piece.depth;
    pieces_.back() = piece;
    pieces_.push_back(piece);
  }

  const int degree_;
  std::vector<double> weights_, stack_;
  std::vector<Piece> pieces_;
};

// Rows of degree + 1 coefficients, by rising powers, on several threads.
inline void count_real_zeros(const double* rows, std::int64_t count, int degree, std::int32_t* counts, int threads) {
  for_rows(count, 256, threads, [&] {
    return [=, zeros = RealZeros(degree)](std::int64_t row) mutable { counts[row] = zeros.count(rows + row * (degree + 1)); };
  });
}

}  // namespace polymargin

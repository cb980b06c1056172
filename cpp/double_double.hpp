// DoubleDouble: an unevaluated sum hi + lo of two doubles, about 32 decimal digits, in every lane.
//
// Error-free transformations after Dekker (1971) and Knuth: two_sum and two_product give a result and
// its exact rounding error. No branches, so the same code serves all lanes at once. The functions have
// the names used for Lanes, so that evaluation, elimination, predictor and corrector are written once.
#pragma once

#include "lanes.hpp"

namespace PM_ISA {

struct DoubleDouble {
  Lanes hi, lo;
};

inline DoubleDouble two_sum(Lanes a, Lanes b) {
  Lanes sum = a + b;
  Lanes part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

inline DoubleDouble quick_two_sum(Lanes a, Lanes b) {  // requires |a| >= |b|
  Lanes sum = a + b;
  return {sum, b - (sum - a)};
}

inline DoubleDouble two_product(Lanes a, Lanes b) {
  Lanes product = a * b;
  if constexpr (kFusedIsExact) return {product, fused(a, b, -product)};
  // Dekker's splitting: 2^27 + 1 cuts 53 bits into halves whose products are exact.
  Lanes a_scaled = a * 134217729.0, b_scaled = b * 134217729.0;
  Lanes a_hi = a_scaled - (a_scaled - a), b_hi = b_scaled - (b_scaled - b);
  Lanes a_lo = a - a_hi, b_lo = b - b_hi;
  return {product, ((a_hi * b_hi - product) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo};
}

inline DoubleDouble operator-(DoubleDouble a) { return {-a.hi, -a.lo}; }

inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  DoubleDouble high = two_sum(a.hi, b.hi), low = two_sum(a.lo, b.lo);
  high = quick_two_sum(high.hi, high.lo + low.hi);
  return quick_two_sum(high.hi, high.lo + low.lo);
}
inline DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + (-b); }

inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  DoubleDouble product = two_product(a.hi, b.hi);
  return quick_two_sum(product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi));
}
inline DoubleDouble operator*(DoubleDouble a, Lanes b) {
  DoubleDouble product = two_product(a.hi, b);
  return quick_two_sum(product.hi, product.lo + a.lo * b);
}

inline DoubleDouble fused(DoubleDouble a, DoubleDouble b, DoubleDouble c) { return c + a * b; }
inline DoubleDouble fused_negated(DoubleDouble a, DoubleDouble b, DoubleDouble c) { return c - a * b; }
inline DoubleDouble select(Mask mask, DoubleDouble yes, DoubleDouble no) {
  return {select(mask, yes.hi, no.hi), select(mask, yes.lo, no.lo)};
}

inline DoubleDouble reciprocal(DoubleDouble a) {  // one Newton step on the rounded reciprocal
  Lanes guess = 1.0 / a.hi;
  DoubleDouble one{broadcast(1.0), broadcast(0.0)};
  DoubleDouble residual = one - a * guess;
  return DoubleDouble{guess, broadcast(0.0)} + residual * guess;
}
inline Lanes reciprocal(Lanes a) { return 1.0 / a; }

inline Lanes leading(Lanes a) { return a; }
inline Lanes leading(DoubleDouble a) { return a.hi; }

template <class Real> inline Real real_from(double hi, double lo);
template <> inline Lanes real_from<Lanes>(double hi, double) { return broadcast(hi); }
template <> inline DoubleDouble real_from<DoubleDouble>(double hi, double lo) { return {broadcast(hi), broadcast(lo)}; }
template <class Real> inline Real real_from(Lanes value);
template <> inline Lanes real_from<Lanes>(Lanes value) { return value; }
template <> inline DoubleDouble real_from<DoubleDouble>(Lanes value) { return {value, broadcast(0.0)}; }

}  // namespace PM_ISA

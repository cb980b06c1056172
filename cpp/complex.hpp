// Complex numbers over Lanes or DoubleDouble: the scalar type of every template in the core.
#pragma once

#include "double_double.hpp"

namespace PM_ISA {

template <class Real> struct Complex {
  Real re, im;
};

template <class Real> inline Complex<Real> zero() {
  return {real_from<Real>(0.0, 0.0), real_from<Real>(0.0, 0.0)};
}

template <class Real> inline Complex<Real> operator+(Complex<Real> a, Complex<Real> b) { return {a.re + b.re, a.im + b.im}; }
template <class Real> inline Complex<Real> operator-(Complex<Real> a, Complex<Real> b) { return {a.re - b.re, a.im - b.im}; }
template <class Real> inline Complex<Real> operator-(Complex<Real> a) { return {-a.re, -a.im}; }

template <class Real> inline Complex<Real> operator*(Complex<Real> a, Complex<Real> b) {
  return {fused_negated(a.im, b.im, a.re * b.re), fused(a.im, b.re, a.re * b.im)};
}
template <class Real> inline Complex<Real> scaled(Complex<Real> a, Real factor) { return {a.re * factor, a.im * factor}; }

// c + a*b and c - a*b: four fused operations each.
template <class Real> inline Complex<Real> multiply_add(Complex<Real> a, Complex<Real> b, Complex<Real> c) {
  return {fused_negated(a.im, b.im, fused(a.re, b.re, c.re)), fused(a.im, b.re, fused(a.re, b.im, c.im))};
}
template <class Real> inline Complex<Real> multiply_subtract(Complex<Real> a, Complex<Real> b, Complex<Real> c) {
  return {fused(a.im, b.im, fused_negated(a.re, b.re, c.re)), fused_negated(a.im, b.re, fused_negated(a.re, b.im, c.im))};
}

template <class Real> inline Complex<Real> squared(Complex<Real> a) {
  Real cross = a.re * a.im;
  return {(a.re + a.im) * (a.re - a.im), cross + cross};
}

template <class Real> inline Complex<Real> reciprocal(Complex<Real> a) {
  Real scale = reciprocal(fused(a.im, a.im, a.re * a.re));
  return {a.re * scale, -(a.im * scale)};
}

template <class Real> inline Complex<Real> select(Mask mask, Complex<Real> yes, Complex<Real> no) {
  return {select(mask, yes.re, no.re), select(mask, yes.im, no.im)};
}

// |a|^2 in double: magnitudes steer decisions, they never enter a result.
template <class Real> inline Lanes magnitude_squared(Complex<Real> a) {
  Lanes re = leading(a.re), im = leading(a.im);
  return fused(re, re, im * im);
}

}  // namespace PM_ISA

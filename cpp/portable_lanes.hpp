// Lanes in plain ISO C++, for compilers without GCC's vector extensions: the same operators on small arrays, one lane at a time.
#pragma once

namespace PM_ISA {

struct Mask {  // all ones or all zeros per lane; also a counter per lane
  long long lane[PM_LANES];
  long long& operator[](int i) { return lane[i]; }
  long long operator[](int i) const { return lane[i]; }
};

struct Lanes {
  double lane[PM_LANES];
  double& operator[](int i) { return lane[i]; }
  double operator[](int i) const { return lane[i]; }
};

#define PM_EACH(Result, expression)                          \
  {                                                          \
    Result result;                                           \
    for (int i = 0; i < PM_LANES; ++i) result[i] = expression; \
    return result;                                           \
  }

#define PM_ARITHMETIC(op)                                                 \
  inline Lanes operator op(Lanes a, Lanes b) PM_EACH(Lanes, a[i] op b[i]) \
  inline Lanes operator op(Lanes a, double b) PM_EACH(Lanes, a[i] op b)   \
  inline Lanes operator op(double a, Lanes b) PM_EACH(Lanes, a op b[i])   \
  inline Lanes& operator op##=(Lanes& a, Lanes b) { return a = a op b; }  \
  inline Lanes& operator op##=(Lanes& a, double b) { return a = a op b; }

#define PM_COMPARISON(op)                                                        \
  inline Mask operator op(Lanes a, Lanes b) PM_EACH(Mask, -(long long)(a[i] op b[i])) \
  inline Mask operator op(Lanes a, double b) PM_EACH(Mask, -(long long)(a[i] op b))

#define PM_LOGIC(op)                                                   \
  inline Mask operator op(Mask a, Mask b) PM_EACH(Mask, a[i] op b[i])  \
  inline Mask& operator op##=(Mask& a, Mask b) { return a = a op b; }

PM_ARITHMETIC(+)
PM_ARITHMETIC(-)
PM_ARITHMETIC(*)
PM_ARITHMETIC(/)
PM_COMPARISON(<)
PM_COMPARISON(<=)
PM_COMPARISON(>)
PM_COMPARISON(>=)
PM_COMPARISON(==)
PM_COMPARISON(!=)
PM_LOGIC(&)
PM_LOGIC(|)
PM_LOGIC(+)
PM_LOGIC(-)
inline Lanes operator-(Lanes a) PM_EACH(Lanes, -a[i])
inline Mask operator~(Mask a) PM_EACH(Mask, ~a[i])
inline Mask operator>=(Mask a, long long b) PM_EACH(Mask, -(long long)(a[i] >= b))

inline Lanes select(Mask mask, Lanes yes, Lanes no) PM_EACH(Lanes, mask[i] ? yes[i] : no[i])
inline Lanes larger(Lanes a, Lanes b) PM_EACH(Lanes, a[i] > b[i] ? a[i] : b[i])
inline Lanes smaller(Lanes a, Lanes b) PM_EACH(Lanes, a[i] < b[i] ? a[i] : b[i])
inline Lanes absolute(Lanes a) PM_EACH(Lanes, a[i] < 0.0 ? -a[i] : a[i])
inline Lanes broadcast(double value) PM_EACH(Lanes, value)

#undef PM_EACH
#undef PM_ARITHMETIC
#undef PM_COMPARISON
#undef PM_LOGIC

}  // namespace PM_ISA

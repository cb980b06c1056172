// What the generated code for a group of lanes is made of: a barrier, an exchange, and the rows of an instruction dealt to lanes.

// What a lane holds of the matrix: in slot q the columns up to the last row of the slot.
PM_DEVICE constexpr int held(int slot, int column) { return PM_GROUP * slot * (slot + 1) / 2 + column; }
constexpr int kHeld = held(PM_ROWS - 1, PM_SIZE - 1 < PM_ROWS * PM_GROUP ? PM_SIZE - 1 : PM_ROWS * PM_GROUP);

#if defined(__CUDACC__)
PM_DEVICE void barrier() { __syncwarp(); }
PM_DEVICE double from_lane(double value, int distance) { return __shfl_xor_sync(0xffffffffu, value, distance); }
PM_DEVICE unsigned lanes_of_group() { return (0xffffffffu >> (32 - PM_GROUP)) << (threadIdx.x & (32u - PM_GROUP)); }
// The largest of numbers that are not negative, or NaN; to the precision and range of a float, which is enough to steer by. As
// bits, such floats are ordered like integers, NaN above all.
PM_DEVICE double largest_over_group(double value) {
  return __uint_as_float(__reduce_max_sync(lanes_of_group(), __float_as_uint(__double2float_ru(value))));
}
#else
inline int this_lane = 0;  // set by whoever runs the lanes
inline void barrier() {
  const int me = this_lane;
  Lanes::barrier();
  this_lane = me;
}
inline double from_lane(double value, int distance) {
  Lanes::exchange()[this_lane] = value;
  barrier();
  const double other = Lanes::exchange()[this_lane ^ distance];
  barrier();
  return other;
}
inline double largest_over_group(double value) {
  for (int distance = PM_GROUP / 2; distance > 0; distance /= 2) value = largest_or_nan(value, from_lane(value, distance));
  return value;
}
#endif

PM_DEVICE Complex sum_over_group(Complex value) {
  PM_UNROLL
  for (int distance = PM_GROUP / 2; distance > 0; distance /= 2)
    value = value + Complex{from_lane(value.re, distance), from_lane(value.im, distance)};
  return value;
}

// The rows of a linear instruction, dealt to the lanes: `Turns` rows each. Numbers of two turns are side by side, so that
// one load brings both.
template <int Turns> struct Rows {
  Complex sum[Turns];
  PM_DEVICE Rows(const double* bias, int lane) {
    double numbers[Turns];
    read(bias, lane, numbers);
    PM_UNROLL
    for (int turn = 0; turn < Turns; ++turn) sum[turn] = {numbers[turn], 0.0};
  }
  PM_DEVICE Rows() {
    PM_UNROLL
    for (int turn = 0; turn < Turns; ++turn) sum[turn] = {0.0, 0.0};
  }
  PM_DEVICE void add(const double* column, int lane, Complex argument) {
    double numbers[Turns];
    read(column, lane, numbers);
    PM_UNROLL
    for (int turn = 0; turn < Turns; ++turn) sum[turn] = add_scaled(numbers[turn], argument, sum[turn]);
  }
  // The same where each row has an argument of its own; lanes beyond the last row repeat it.
  template <class Argument> PM_DEVICE void add_each(const double* column, int lane, int rows, Argument argument) {
    double numbers[Turns];
    read(column, lane, numbers);
    PM_UNROLL
    for (int turn = 0; turn < Turns; ++turn) {
      const int row = turn * PM_GROUP + lane;
      sum[turn] = add_scaled(numbers[turn], argument(row < rows ? row : rows - 1), sum[turn]);
    }
  }
  PM_DEVICE void store(Complex* target, int rows, int lane) const {
    PM_UNROLL
    for (int turn = 0; turn < Turns; ++turn)
      if (turn * PM_GROUP + lane < rows) target[turn * PM_GROUP + lane] = sum[turn];
  }

 private:
  static PM_DEVICE void read(const double* column, int lane, double (&numbers)[Turns]) {
    PM_UNROLL
    for (int turn = 0; turn + 1 < Turns; turn += 2) {
      const Pair pair = reinterpret_cast<const Pair*>(column + turn * PM_GROUP)[lane];
      numbers[turn] = pair.first;
      numbers[turn + 1] = pair.second;
    }
    if (Turns % 2) numbers[Turns - 1] = column[(Turns - 1) * PM_GROUP + lane];
  }
};

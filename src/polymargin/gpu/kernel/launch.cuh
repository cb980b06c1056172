// The doors: a kernel for a grid of blocks that stay until the queue is empty, and the same for one group on the host.

#if defined(__CUDACC__)

PM_DEVICE unsigned take_from_queue(unsigned* next) {
#if PM_GROUP == 1
  return add_to(next, 1u);
#else
  // The first lane asks for its group.
  unsigned taken = 0;
  if (threadIdx.x % PM_GROUP == 0) taken = add_to(next, 1u);
  return __shfl_sync(lanes_of_group(), taken, 0, PM_GROUP);
#endif
}

extern "C" __global__ void __launch_bounds__(PM_THREADS, PM_BLOCKS) follow(const Job* __restrict__ given) {
  extern __shared__ Complex shared[];
  __shared__ Job job;
  if (threadIdx.x == 0) job = *given;
  __syncthreads();
  const double* coefficients = job.coefficients;
#if PM_SHARED_COEFFICIENTS
  double* copy = reinterpret_cast<double*>(shared + PM_NUMBERS * PM_THREADS);
  for (int i = threadIdx.x; i < PM_COEFFICIENTS; i += PM_THREADS) copy[i] = coefficients[i];
  __syncthreads();
  coefficients = copy;
#endif
  Follower follower{job};
  follower.path.coefficients = coefficients;
  follower.path.begin = job.begin;
  follower.path.target = job.targets;
#if PM_GROUP == 1
  follower.path.memory = shared + threadIdx.x;
  follower.path.stride = PM_THREADS;
#else
  follower.path.lane = threadIdx.x % PM_GROUP;
  follower.path.file = shared + (threadIdx.x / PM_GROUP) * PM_NUMBERS;
  place_constants(follower.path.file, coefficients, follower.path.lane);
#endif
  follower.take_next(take_from_queue(job.next));
  while (__any_sync(0xffffffffu, follower.busy)) {
    double correction;
    const int end = follower.advance(correction);
    if (follower.busy && end != kGoesOn) {
      follower.give_back(end, correction);
      follower.take_next(take_from_queue(job.next));
    }
  }
}

#else

extern "C" void follow(const Job* given) {
  const Job& job = *given;
  std::vector<Complex> shared(PM_NUMBERS, Complex{0.0, 0.0});
  auto body = [&](int lane) {
    Follower follower{job};
    follower.path.coefficients = job.coefficients;
    follower.path.begin = job.begin;
    follower.path.target = job.targets;
#if PM_GROUP == 1
    follower.path.memory = shared.data() + lane;
    follower.path.stride = 1;
#else
    this_lane = lane;
    follower.path.lane = lane;
    follower.path.file = shared.data();
    place_constants(follower.path.file, job.coefficients, lane);
#endif
    // One group, so every lane knows whose turn it is without asking.
    for (unsigned next = 0; next < job.path_count; ++next) {
      follower.take_next(next);
      int end = kGoesOn;
      double correction = 0.0;
      while (end == kGoesOn) end = follower.advance(correction);
      follower.give_back(end, correction);
    }
  };
#if PM_GROUP == 1
  body(0);
#else
  Lanes::run(PM_GROUP, body);
#endif
}

#endif

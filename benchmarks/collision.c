/* Contacts of listed pairs of spheres, one after another: the scalar reference for the narrow phase. */
#include <math.h>
#include <stdint.h>

int64_t touch(int64_t n, const int32_t *pairs, const double *centre, const double *radius, double distance,
              double *out) {
  int64_t count = 0;
  for (int64_t k = 0; k < n; k++) {
    const int32_t i = pairs[2 * k], j = pairs[2 * k + 1];
    const double *p = centre + 3 * i, *q = centre + 3 * j;
    const double x = q[0] - p[0], y = q[1] - p[1], z = q[2] - p[2];
    const double limit = radius[i] + radius[j] + distance, square = x * x + y * y + z * z;
    if (square > limit * limit) continue;
    const double length = sqrt(square), gap = length - radius[i] - radius[j], along = radius[i] + 0.5 * gap;
    double *row = out + 8 * count++;
    row[0] = (double)k;
    row[1] = p[0] + along * x / length;
    row[2] = p[1] + along * y / length;
    row[3] = p[2] + along * z / length;
    row[4] = x / length;
    row[5] = y / length;
    row[6] = z / length;
    row[7] = gap;
  }
  return count;
}

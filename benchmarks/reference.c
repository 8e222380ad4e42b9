/* Sweeps of nonsmooth Gauss-Seidel in plain C: what a careful hand would write, one contact at a time.

   The same algorithms, formulas and order of visits as the kernels of clapas (see clapas.solvers.local
   and clapas.solvers.nsgs), so the iterates agree to rounding and the times can be compared. Contacts in
   3-D between bodies of 6 velocities. A coefficient row is (1/W_NN, c_1, c_2, s_1, s_2, mu); s_1 and s_2 are
   taken to be positive, as they are for spheres.

   Contacts come in slabs of consecutive ones, visited even slabs first, then odd ones; slabs of the same
   parity share no body (no impulse, in the Delassus form) and go to different threads. One slab is the
   plain sequential sweep.

   EXACT_STEPS, NEWTON_STEPS, NEWTON_TOL, PROJECTIONS and PROJECTION_TOL are given on the command line:
   the settings of the local solvers of clapas. */

#include <math.h>
#include <stdint.h>

#define ROUNDING 4e-16
#define SIZE 6          /* velocities of a body */
#define N_COEFFICIENTS 6

typedef struct {
    double n, t1, t2;
} vector;

static inline vector project_once(vector r, vector u, const double *k)
{
    const double mu = k[5];
    const double largest = (1.0 + k[1] * k[1] + k[2] * k[2]) / k[0] + (k[3] > k[4] ? k[3] : k[4]);
    const double rho = 1.0 / largest;
    const double xn = r.n - rho * (u.n + mu * sqrt(u.t1 * u.t1 + u.t2 * u.t2));
    const double x1 = r.t1 - rho * u.t1, x2 = r.t2 - rho * u.t2;
    const double size = sqrt(x1 * x1 + x2 * x2);
    if (size <= mu * xn)
        return (vector){xn, x1, x2};
    if (mu * size <= -xn)
        return (vector){0.0, 0.0, 0.0};
    const double n = (xn + mu * size) / (1.0 + mu * mu);
    return (vector){n, mu * n * x1 / size, mu * n * x2 / size};
}

static inline vector solve_de_saxce(vector r, vector u, const double *k)
{
    const double w = 1.0 / k[0], c1 = k[1], c2 = k[2], s1 = k[3], s2 = k[4];
    for (int step = 0; step < PROJECTIONS; step++) {
        const vector x = project_once(r, u, k);
        const double dn = x.n - r.n, d1 = x.t1 - r.t1, d2 = x.t2 - r.t2;
        r = x;
        if (dn * dn + d1 * d1 + d2 * d2
            <= PROJECTION_TOL * PROJECTION_TOL * (x.n * x.n + x.t1 * x.t1 + x.t2 * x.t2))
            break;
        const double push = w * (dn + c1 * d1 + c2 * d2);
        u.n += push;
        u.t1 += c1 * push + s1 * d1;
        u.t2 += c2 * push + s2 * d2;
    }
    return r;
}

/* Unit vector along r_T of a sliding contact; 0 if the contact alone has no solution. */
static inline int slip_direction(double a, double b1, double b2, const double *k, double *d1, double *d2)
{
    const double c1 = k[1], c2 = k[2], s1 = k[3], s2 = k[4], mu = k[5];
    const double b = sqrt(b1 * b1 + b2 * b2);
    double low = 0.0, high = b * (1.0 + mu * (fabs(c1) + fabs(c2))) / (mu * a);
    double alpha = (b - mu * (c1 * b1 + c2 * b2)) / (mu * a) - 0.5 * (s1 + s2);
    if (!(low < alpha && alpha < high))
        alpha = 0.5 * high;
    for (int step = 0; step < EXACT_STEPS; step++) {
        const double g1 = 1.0 / (s1 + alpha), g2 = 1.0 / (s2 + alpha);
        const double t1 = -b1 * g1, t2 = -b2 * g2;
        const double size2 = t1 * t1 + t2 * t2, size = sqrt(size2);
        const double ratio = mu * (a - c1 * t1 - c2 * t2) / size, phi = ratio - 1.0;
        if (phi < 0.0)
            low = alpha;
        else
            high = alpha;
        if (fabs(phi) <= ROUNDING || high - low <= ROUNDING * high)
            break;
        const double slope_n = c1 * t1 * g1 + c2 * t2 * g2;
        const double slope_size = -(t1 * t1 * g1 + t2 * t2 * g2) / size2;
        const double next = alpha - phi / (mu * slope_n / size - ratio * slope_size);
        alpha = low < next && next < high ? next : 0.5 * (low + high);
    }
    const double t1 = -b1 / (s1 + alpha), t2 = -b2 / (s2 + alpha), size = sqrt(t1 * t1 + t2 * t2);
    if (!(fabs(mu * (a - c1 * t1 - c2 * t2) - size) <= 1e-6 * size))
        return 0;
    *d1 = t1 / size;
    *d2 = t2 / size;
    return 1;
}

static inline vector solve_exact(vector r, vector u, const double *k)
{
    const double c1 = k[1], c2 = k[2], s1 = k[3], s2 = k[4], mu = k[5];
    const double a = r.n + c1 * r.t1 + c2 * r.t2 - k[0] * u.n;
    if (a <= 0.0)
        return (vector){0.0, 0.0, 0.0};
    if (mu == 0.0)
        return (vector){a, 0.0, 0.0};
    const double b1 = u.t1 - c1 * u.n - s1 * r.t1, b2 = u.t2 - c2 * u.n - s2 * r.t2;
    const double t1 = -b1 / s1, t2 = -b2 / s2;
    double n = a - c1 * t1 - c2 * t2;
    if (n >= 0.0 && t1 * t1 + t2 * t2 <= mu * mu * n * n)
        return (vector){n, t1, t2};
    double d1, d2;
    if (slip_direction(a, b1, b2, k, &d1, &d2)) {
        n = a / (1.0 + mu * (c1 * d1 + c2 * d2));
        if (n > 0.0 && n < INFINITY)
            return (vector){n, mu * n * d1, mu * n * d2};
    }
    return project_once(r, u, k);
}

static inline vector solve_alart_curnier(vector r, vector u, const double *k)
{
    const double c1 = k[1], c2 = k[2], s1 = k[3], s2 = k[4], mu = k[5];
    const double a = r.n + c1 * r.t1 + c2 * r.t2 - k[0] * u.n;
    if (a <= 0.0)
        return (vector){0.0, 0.0, 0.0};
    if (mu == 0.0)
        return (vector){a, 0.0, 0.0};
    const double b1 = u.t1 - c1 * u.n - s1 * r.t1, b2 = u.t2 - c2 * u.n - s2 * r.t2;
    const double rho = s1 + s2 > 0.0 ? 2.0 / (s1 + s2) : k[0];
    double t1 = r.t1, t2 = r.t2;
    for (int step = 0; step < NEWTON_STEPS; step++) {
        double n = a - c1 * t1 - c2 * t2, new1, new2;
        const double y1 = t1 - rho * (s1 * t1 + b1), y2 = t2 - rho * (s2 * t2 + b2);
        const double size = sqrt(y1 * y1 + y2 * y2), radius = mu * (n > 0.0 ? n : 0.0);
        if (size <= radius) {
            new1 = -b1 / s1;
            new2 = -b2 / s2;
        } else {
            const double d1 = y1 / size, d2 = y2 / size, scale = radius / size, drag = n > 0.0 ? mu : 0.0;
            const double g1 = 1.0 - rho * s1, g2 = 1.0 - rho * s2;
            const double j11 = 1.0 - scale * d2 * d2 * g1 + drag * d1 * c1;
            const double j12 = scale * d1 * d2 * g2 + drag * d1 * c2;
            const double j21 = scale * d1 * d2 * g1 + drag * d2 * c1;
            const double j22 = 1.0 - scale * d1 * d1 * g2 + drag * d2 * c2;
            const double determinant = j11 * j22 - j12 * j21;
            if (determinant == 0.0)
                break;
            const double f1 = radius * d1 - t1, f2 = radius * d2 - t2;
            new1 = t1 + (j22 * f1 - j12 * f2) / determinant;
            new2 = t2 + (j11 * f2 - j21 * f1) / determinant;
        }
        const double change = fabs(new1 - t1) + fabs(new2 - t2);
        t1 = new1;
        t2 = new2;
        if (change <= NEWTON_TOL * (fabs(t1) + fabs(t2))) {
            n = a - c1 * t1 - c2 * t2;
            if (n >= 0.0 && t1 * t1 + t2 * t2 <= mu * mu * n * n * (1.0 + 8.0 * NEWTON_TOL))
                return (vector){n, t1, t2};
            break;
        }
    }
    return solve_exact(r, u, k);
}

/* Data of the body form: G (n, 2, 3, SIZE), bodies (n, 2), w (n, 3), coefficients (n, 6), r (n, 3), y. */
typedef struct {
    const double *G;
    const uint32_t *bodies;
    const double *w, *coefficients;
    double *r, *y;
} body_form;

/* Data of the Delassus form: blocks (nnz, 3, 3) by rows, q (n, 3), coefficients (n, 6), r (n, 3). */
typedef struct {
    const int64_t *indptr;
    const uint32_t *indices;
    const double *blocks, *q, *coefficients;
    double *r;
} delassus_form;

static inline void add_velocity(const double *G, const double *y, vector *u)
{
    for (int j = 0; j < SIZE; j++) {
        u->n += G[j] * y[j];
        u->t1 += G[SIZE + j] * y[j];
        u->t2 += G[2 * SIZE + j] * y[j];
    }
}

static inline void add_impulse(const double *G, vector dr, double *y)
{
    for (int j = 0; j < SIZE; j++)
        y[j] += G[j] * dr.n + G[SIZE + j] * dr.t1 + G[2 * SIZE + j] * dr.t2;
}

/* Add Gᵀ r to the velocities y of the bodies. */
void add_impulses(int64_t n, const body_form *data)
{
    for (int64_t i = 0; i < n; i++) {
        const double *G = data->G + 6 * SIZE * i, *r = data->r + 3 * i;
        const vector impulse = {r[0], r[1], r[2]};
        add_impulse(G, impulse, data->y + SIZE * data->bodies[2 * i]);
        add_impulse(G + 3 * SIZE, impulse, data->y + SIZE * data->bodies[2 * i + 1]);
    }
}

/* One slab of each form, for each local solver: the solver is a constant of the compiled loop. */
#define SLAB(local)                                                                                     \
    static void bodies_slab_##local(const body_form *p, int64_t begin, int64_t end)                     \
    {                                                                                                   \
        const body_form c = *p;                                                                         \
        for (int64_t i = begin; i < end; i++) {                                                         \
            const double *G_a = c.G + 6 * SIZE * i, *G_b = G_a + 3 * SIZE, *w = c.w + 3 * i;            \
            double *y_a = c.y + SIZE * c.bodies[2 * i], *y_b = c.y + SIZE * c.bodies[2 * i + 1];        \
            double *r = c.r + 3 * i;                                                                    \
            vector u = {w[0], w[1], w[2]}, old = {r[0], r[1], r[2]};                                    \
            add_velocity(G_a, y_a, &u);                                                                 \
            add_velocity(G_b, y_b, &u);                                                                 \
            const vector new = solve_##local(old, u, c.coefficients + N_COEFFICIENTS * i);              \
            const vector dr = {new.n - old.n, new.t1 - old.t1, new.t2 - old.t2};                        \
            r[0] = new.n;                                                                               \
            r[1] = new.t1;                                                                              \
            r[2] = new.t2;                                                                              \
            add_impulse(G_a, dr, y_a);                                                                  \
            add_impulse(G_b, dr, y_b);                                                                  \
        }                                                                                               \
    }                                                                                                   \
                                                                                                        \
    static void delassus_slab_##local(const delassus_form *p, int64_t begin, int64_t end)               \
    {                                                                                                   \
        const delassus_form c = *p;                                                                     \
        for (int64_t i = begin; i < end; i++) {                                                         \
            const double *q = c.q + 3 * i;                                                              \
            vector u = {q[0], q[1], q[2]};                                                              \
            for (int64_t at = c.indptr[i]; at < c.indptr[i + 1]; at++) {                                \
                const double *W = c.blocks + 9 * at, *x = c.r + 3 * (int64_t)c.indices[at];             \
                u.n += W[0] * x[0] + W[1] * x[1] + W[2] * x[2];                                         \
                u.t1 += W[3] * x[0] + W[4] * x[1] + W[5] * x[2];                                        \
                u.t2 += W[6] * x[0] + W[7] * x[1] + W[8] * x[2];                                        \
            }                                                                                           \
            double *r = c.r + 3 * i;                                                                    \
            const vector new =                                                                          \
                solve_##local((vector){r[0], r[1], r[2]}, u, c.coefficients + N_COEFFICIENTS * i);      \
            r[0] = new.n;                                                                               \
            r[1] = new.t1;                                                                              \
            r[2] = new.t2;                                                                              \
        }                                                                                               \
    }                                                                                                   \
                                                                                                        \
    SWEEPS(bodies, local)                                                                               \
    SWEEPS(delassus, local)

/* One team of threads for all the sweeps; the barrier is at the end of each parity. */
#define SWEEPS(form, local)                                                                             \
    void form##_##local(int64_t count, int threads, int64_t n_slabs, const int64_t *bounds,             \
                        const form##_form *data)                                                        \
    {                                                                                                   \
        _Pragma("omp parallel num_threads(threads)")                                                    \
        for (int64_t sweep = 0; sweep < count; sweep++)                                                 \
            for (int64_t parity = 0; parity < 2; parity++) {                                            \
                _Pragma("omp for schedule(static)")                                                     \
                for (int64_t half = 0; half < (n_slabs + 1 - parity) / 2; half++) {                     \
                    const int64_t slab = 2 * half + parity;                                             \
                    form##_slab_##local(data, bounds[slab], bounds[slab + 1]);                          \
                }                                                                                       \
            }                                                                                           \
    }

#define bodies_form body_form

SLAB(exact)
SLAB(alart_curnier)
SLAB(de_saxce)

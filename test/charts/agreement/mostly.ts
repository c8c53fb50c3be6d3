import fc from "fast-check"

/** Values that are right, and now and then one that may not be. */
export const mostly = <A>(usual: fc.Arbitrary<A>, odd: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 8, arbitrary: usual }, { weight: 1, arbitrary: odd })

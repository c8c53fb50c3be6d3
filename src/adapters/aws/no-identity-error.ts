/** The AWS SDK finds no identity of this process. The message says why, and the cure. */
export class NoIdentityError extends Error {}

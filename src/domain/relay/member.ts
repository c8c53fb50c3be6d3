/**
 * A member of the router: a cluster in the primary, or one agent of the target's pods in a single or member operator.
 * The router distinguishes members by this name only, and quotes it in warnings.
 */
export type MemberName = string & { readonly MemberName: unique symbol }

export const memberName = (name: string): MemberName => name as MemberName

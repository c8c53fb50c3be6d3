/**
 * A member of the router: a cluster in the primary, an agent of one of the target's pods in a single or member
 * operator. The machine tells members apart by this name only and quotes it in warnings.
 */
export type MemberName = string & { readonly MemberName: unique symbol }

export const memberName = (name: string): MemberName => name as MemberName

/**
 * Values of environment variables as a pod template has them: `$(NAME)` stands for another variable of the container,
 * `$$` for one sign.
 *
 * Not here: which variables a container has (branches/source-environment.ts, queues/container-environment.ts).
 */

/**
 * A reference in a value, whose group is the name, or an escaped sign. The kubelet leaves a reference as it is that
 * begins inside of another, such as `$($(NAME)`; here it is read.
 */
export const variableReference = /\$\$|\$\(([-._A-Za-z0-9]{1,253})\)/gu

/** A text as the value of a variable that the kubelet leaves as it is. */
export const literalValue = (text: string): string => text.replaceAll("$", "$$$$")

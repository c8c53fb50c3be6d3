/**
 * The bound of waits in real time: of the strict client, the playground, the fuzzer and the tests. Nothing is expected
 * to happen in that time, on any machine; it only ends what hangs. Not for virtual time.
 */
export const boundMinutes = 10

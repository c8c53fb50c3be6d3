module braid.test/relaygen

go 1.22

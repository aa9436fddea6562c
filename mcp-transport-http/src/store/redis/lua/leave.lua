bury(ARGV[1])
return 1

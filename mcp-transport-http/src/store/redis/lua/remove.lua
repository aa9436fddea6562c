local holder = find()
if holder == nil then return 1 end
if holder ~= ARGV[2] then return 0 end
redis.call('UNLINK', unpack(KEYS))
return 1

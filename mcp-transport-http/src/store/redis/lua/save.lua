-- Without a snapshot there is no ARGV[6]. What needs no memory is done without a command that is refused where there is none.
local _, node, version, keep, let_go, snapshot = unpack(ARGV)
if not held(node, version) then return 0 end
if snapshot then
  redis.call('HSET', SESSION, 'v', version, 's', snapshot, 'd', 1)
elseif redis.call('HGET', SESSION, 'v') ~= version then
  redis.call('HSET', SESSION, 'v', version)
end
if let_go == '1' then
  redis.call('HDEL', SESSION, 'n', 'd')
  redis.call('DEL', LEASE)
end
expire(math.max(tonumber(keep), redis.call('PTTL', LEASE)))
return 1

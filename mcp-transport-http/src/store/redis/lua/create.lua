local _, node, lease, keep, snapshot = unpack(ARGV)
if redis.call('EXISTS', SESSION) == 1 then
  local holder, version = find()
  if holder ~= node or version ~= 1 then return 0 end
end
redis.call('HSET', SESSION, 'p', ARGV[1], 'n', node, 'v', 1, 's', snapshot, 'd', 1)
redis.call('SET', LEASE, node, 'PX', lease)
expire(math.max(tonumber(keep), tonumber(lease)))
return 1

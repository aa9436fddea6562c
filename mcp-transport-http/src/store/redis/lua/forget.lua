if find() ~= nil then redis.call('UNLINK', TRACKS, EVENTS, ORDER, ENDED) end
return 1

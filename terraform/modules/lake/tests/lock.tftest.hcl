# The copy of the archive that nobody can delete: off by default, because what it holds stays for the days that one said.

mock_provider "aws" {
  source = "../../testing"
}

variables {
  name              = "lk-test"
  key_arn           = "arn:aws:kms:us-east-1:123456789012:key/lake"
  archive_lock_days = 400
}

run "without_days_there_is_no_copy" {
  command = plan

  variables {
    archive_lock_days = 0
  }

  assert {
    condition     = length(aws_s3_bucket.this) == 3 && length(aws_s3_bucket_object_lock_configuration.archive) == 0 && length(aws_s3_bucket_replication_configuration.archive) == 0
    error_message = "nothing is copied or locked unless somebody said for how long"
  }
}

run "the_copy_is_locked_and_nothing_else_is" {
  assert {
    condition = { for use, bucket in aws_s3_bucket.this : use => "${bucket.bucket} ${bucket.object_lock_enabled}" if bucket.object_lock_enabled } == {
      archive = "lk-test-123456789012-archive true"
    }
    error_message = "the lake's own bucket must stay without a lock: partial rows and checkpoints must go"
  }

  assert {
    condition = [for lock in aws_s3_bucket_object_lock_configuration.archive : "${lock.bucket == aws_s3_bucket.this["archive"].id} ${lock.rule[0].default_retention[0].mode} ${lock.rule[0].default_retention[0].days}"] == [
      "true GOVERNANCE 400"
    ]
    error_message = "each object of the copy must be locked for these days"
  }

  assert {
    condition     = aws_s3_bucket_versioning.this["archive"].versioning_configuration[0].status == "Enabled" && aws_s3_bucket_public_access_block.this["archive"].restrict_public_buckets
    error_message = "the copy is versioned and private as the other buckets"
  }

  assert {
    condition     = one(flatten([for rule in aws_s3_bucket_server_side_encryption_configuration.this["archive"].rule : rule.apply_server_side_encryption_by_default[*].kms_master_key_id])) == var.key_arn
    error_message = "the copy is under the lake's key"
  }
}

run "the_archive_and_only_the_archive_is_copied" {
  assert {
    condition = [for rule in aws_s3_bucket_replication_configuration.archive[0].rule : "s3://${aws_s3_bucket.this["lake"].id}/${rule.filter[0].prefix} ${rule.status}"] == [
      "${aws_glue_catalog_database.this["archive"].location_uri}/ Enabled"
    ]
    error_message = "what is copied is the archive, where its tables are"
  }

  assert {
    condition     = aws_s3_bucket_replication_configuration.archive[0].bucket == aws_s3_bucket.this["lake"].id && aws_s3_bucket_replication_configuration.archive[0].rule[0].destination[0].bucket == aws_s3_bucket.this["archive"].arn
    error_message = "from the lake to the copy"
  }

  assert {
    condition     = aws_s3_bucket_replication_configuration.archive[0].rule[0].source_selection_criteria[0].sse_kms_encrypted_objects[0].status == "Enabled" && aws_s3_bucket_replication_configuration.archive[0].rule[0].destination[0].encryption_configuration[0].replica_kms_key_id == var.key_arn
    error_message = "S3 leaves encrypted objects out unless it is told to copy them"
  }

  assert {
    condition     = aws_s3_bucket_replication_configuration.archive[0].rule[0].delete_marker_replication[0].status == "Enabled"
    error_message = "what cleanup deletes must go from the copy too, when its lock ends"
  }
}

run "what_goes_from_the_lake_goes_from_the_copy_after_its_lock" {
  assert {
    condition     = aws_s3_bucket_lifecycle_configuration.this["archive"].rule[0].noncurrent_version_expiration[0].noncurrent_days == 30
    error_message = "S3 deletes no locked version; after the lock, replaced ones must not cost for ever"
  }

  assert {
    condition     = alltrue(flatten([for rule in aws_s3_bucket_lifecycle_configuration.this["archive"].rule : [for e in rule.expiration : e.days == null || e.days == 0]]))
    error_message = "no rule may expire what the archive still holds"
  }
}

run "nobody_unlocks_the_copy" {
  assert {
    condition = [for statement in data.aws_iam_policy_document.bucket["archive"].statement : "${statement.effect} ${join(" ", sort(statement.actions))} ${join(" ", statement.resources)} ${join(" ", flatten([for who in statement.principals : tolist(who.identifiers)]))}" if statement.sid == "NobodyUnlocks"] == [
      "Deny s3:BypassGovernanceRetention s3:DeleteObjectVersion arn:aws:s3:::lk-test-123456789012-archive/* *"
    ]
    error_message = "nobody may delete versions of the copy, nor lift their lock"
  }

  assert {
    condition     = !anytrue([for use, document in data.aws_iam_policy_document.bucket : use != "archive" && anytrue([for statement in document.statement : statement.sid == "NobodyUnlocks"])])
    error_message = "a statement of the copy alone"
  }

  assert {
    condition     = toset(keys(output.bucket_arns)) == toset(["lake", "artifacts", "access"]) && output.locked_archive == "lk-test-123456789012-archive"
    error_message = "the copy must not be among the buckets that jobs and the S3 endpoint get"
  }

  assert {
    condition     = contains([for selector in tolist(aws_cloudtrail.lake.advanced_event_selector)[0].field_selector : join(" ", selector.starts_with) if selector.field == "resources.ARN"], "arn:aws:s3:::lk-test-123456789012-archive/ arn:aws:s3:::lk-test-123456789012-lake/")
    error_message = "writes and deletes of the copy are recorded too"
  }
}

run "who_copies_may_do_nothing_else" {
  assert {
    condition = { for statement in data.aws_iam_policy_document.copy[0].statement : statement.sid => "${join(" ", sort(statement.actions))} on ${join(" ", statement.resources)}" } == {
      Lake    = "s3:GetReplicationConfiguration s3:ListBucket on arn:aws:s3:::lk-test-123456789012-lake"
      Archive = "s3:GetObjectVersionAcl s3:GetObjectVersionForReplication s3:GetObjectVersionTagging on arn:aws:s3:::lk-test-123456789012-lake/lake/archive/*"
      Copy    = "s3:ReplicateDelete s3:ReplicateObject s3:ReplicateTags on arn:aws:s3:::lk-test-123456789012-archive/*"
      Key     = "kms:Decrypt kms:Encrypt kms:GenerateDataKey on arn:aws:kms:us-east-1:123456789012:key/lake"
    }
    error_message = "S3 copies the archive as a role that can do nothing else"
  }
}

run "what_may_be_destroyed_can_be_unlocked" {
  variables {
    destroy_with_data = true
  }

  assert {
    condition     = !anytrue([for statement in data.aws_iam_policy_document.bucket["archive"].statement : statement.sid == "NobodyUnlocks"])
    error_message = "terraform must be able to empty what may be destroyed"
  }
}

run "a_lock_of_less_than_no_days" {
  command = plan

  variables {
    archive_lock_days = -1
  }

  expect_failures = [var.archive_lock_days]
}
